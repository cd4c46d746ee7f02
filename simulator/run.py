"""What happened in a run: the record that every number and figure is computed from."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalstop.simulator.job import Workload


class Stint(NamedTuple):
    """One stay of a job on its GPUs; `job` is its order of submission, times are in seconds.

    From `granted` to `works_from` it pays the overhead of resuming, from `stopped` to `released` it
    saves; in between it works, `speed` seconds of work a second.
    """

    job: int
    granted: float
    works_from: float
    stopped: float
    released: float
    gpus: int
    speed: float


class Stop(NamedTuple):
    """The stop of a job by a stop rule.

    Parameters
    ----------
    at : float
        When; it had an alarm before, `Run.alarms`.
    work : float
        Seconds of work that it had by then.
    preemptions : int
        How often it had been preempted.
    again : float
        Seconds of work with which it was submitted again at once; 0 = it was not.
    """

    at: float
    work: float
    preemptions: int
    again: float


@dataclass(frozen=True)
class Stints:
    """All stints of a run as arrays, by job, then in time.

    `first` marks the first stint of a job, and the first after it was submitted again.
    """

    job: np.ndarray
    granted: np.ndarray
    works_from: np.ndarray
    stopped: np.ndarray
    released: np.ndarray
    gpus: np.ndarray
    speed: np.ndarray
    first: np.ndarray

    @cached_property
    def work(self) -> np.ndarray:
        """Seconds of work done in each."""
        return np.asarray((self.stopped - self.works_from) * self.speed)

    def in_use(self) -> tuple[np.ndarray, np.ndarray]:
        """Give the moments at which GPUs change hands, and how many are held after each change.

        At equal times releases come first.
        """
        times = np.concatenate([self.released, self.granted])
        order = np.argsort(times, kind="stable")
        return times[order], np.cumsum(np.concatenate([-self.gpus, self.gpus])[order])


@dataclass(frozen=True)
class Run:
    """The record of a run; sequences have one value for each job, in the order of the workload.

    Attributes
    ----------
    workload : Workload
    scheduler : str
        Spec of the policy.
    gpus : int
        Size of the cluster.
    overhead : float
        Seconds that a resumed job holds its GPUs before it works.
    delay : float
        Seconds from an alarm to what is done about it.
    save_delay : float
        Seconds that a preempted job holds its GPUs to save.
    ends : sequence of float
        When each job left.
    preemptions : sequence of int
        How often each job was preempted.
    interrupted : sequence of Stint
        The stints that were cut short, in the order in which they were.
    granted, works_from : sequence of float
        When the last stint of each job began, and when its work did. A job that is stopped while it
        waits has an empty last stint.
    sizes, speeds : sequence of float
        GPUs of the last stint of each job, and its seconds of work a second.
    alarms : mapping of int to float
        When jobs had their alarm, those at the last eval left out.
    stops : mapping of int to Stop
        The jobs that were stopped.
    demoted : set of int
        Jobs that an alarm put behind all others.
    alarms_at_last : set of int
        Jobs whose first alarm came with their end: it stops nothing.
    """

    workload: Workload
    scheduler: str
    gpus: int
    overhead: float
    save_delay: float
    ends: Sequence[float]
    preemptions: Sequence[int]
    interrupted: Sequence[Stint]
    granted: Sequence[float]
    works_from: Sequence[float]
    sizes: Sequence[int]
    speeds: Sequence[float]
    delay: float
    alarms: Mapping[int, float]
    stops: Mapping[int, Stop]
    demoted: Set[int]
    alarms_at_last: Set[int]

    @property
    def outcomes(self) -> list[str]:
        """How each job left: ``finished`` or ``stopped``; one submitted again finished."""
        stopped = {i for i, stop in self.stops.items() if not stop.again}
        return ["stopped" if i in stopped else "finished" for i in range(len(self.ends))]

    @cached_property
    def jct(self) -> np.ndarray:
        """Seconds from the first submit of each job to the moment it left."""
        submits = np.array([job.submit for job in self.workload.jobs], dtype=float)
        return np.asarray(np.array(self.ends, dtype=float) - submits)

    @property
    def starts(self) -> list[float]:
        """When each job first got GPUs."""
        starts = list(self.granted)
        for stint in reversed(self.interrupted):
            starts[stint.job] = stint.granted
        return starts

    @cached_property
    def stints(self) -> Stints:
        """All stints, those cut short and the last ones."""
        last = (self.granted, self.works_from, self.ends, self.ends, self.sizes, self.speeds)
        columns = [np.arange(len(self.ends)), *(np.array(c, dtype=float) for c in last)]
        if self.interrupted:
            cut = [np.array(c, dtype=float) for c in zip(*self.interrupted, strict=True)]
            order = np.argsort(np.concatenate([cut[0], columns[0]]), kind="stable")
            columns = [np.concatenate(both)[order] for both in zip(cut, columns, strict=True)]
        jobs = columns[0].astype(np.int64)
        first = np.concatenate([[True], jobs[1:] != jobs[:-1]])
        for i, stop in self.stops.items():
            if stop.again:
                first[np.searchsorted(jobs, i) + stop.preemptions + 1] = True
        _, granted, works_from, stopped, released, gpus, speed = columns
        held = gpus.astype(np.int64)
        return Stints(jobs, granted, works_from, stopped, released, held, speed, first)
