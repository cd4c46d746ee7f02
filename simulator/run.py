"""What happened in a run: the record that every number and figure is computed from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalstop.simulator.job import Workload


class Stint(NamedTuple):
    """One stay of a job on its GPUs; `job` is its order of submission, times are in seconds.

    From `granted` to `works_from` it pays the overhead of resuming, from `stopped` to `released` it
    saves; in between it works.
    """

    job: int
    granted: float
    works_from: float
    stopped: float
    released: float


@dataclass(frozen=True)
class Stints:
    """All stints of a run as arrays, by job, then in time."""

    job: np.ndarray
    gpus: np.ndarray
    granted: np.ndarray
    works_from: np.ndarray
    stopped: np.ndarray
    released: np.ndarray

    @cached_property
    def first(self) -> np.ndarray:
        """Mark the first stint of each job."""
        return np.concatenate([[True], self.job[1:] != self.job[:-1]])

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
    save_delay : float
        Seconds that a preempted job holds its GPUs to save.
    ends : sequence of float
        When each job left.
    outcomes : sequence of str
        How it left: ``finished``.
    preemptions : sequence of int
        How often each job was preempted.
    interrupted : sequence of Stint
        The stints that were cut short, in the order in which they were.
    granted, works_from : sequence of float
        When the last stint of each job began, and when its work did.
    """

    workload: Workload
    scheduler: str
    gpus: int
    overhead: float
    save_delay: float
    ends: Sequence[float]
    outcomes: Sequence[str]
    preemptions: Sequence[int]
    interrupted: Sequence[Stint]
    granted: Sequence[float]
    works_from: Sequence[float]

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
        jobs = np.arange(len(self.ends))
        times = [np.array(t, dtype=float) for t in (self.granted, self.works_from, self.ends)]
        times.append(times[-1])
        if self.interrupted:
            cut = [np.array(c) for c in zip(*self.interrupted, strict=True)]
            jobs = np.concatenate([cut[0], jobs])
            order = np.argsort(jobs, kind="stable")
            jobs = jobs[order]
            both = zip(cut[1:], times, strict=True)
            times = [np.concatenate([a, b])[order].astype(float) for a, b in both]
        return Stints(jobs, np.array([j.gpus for j in self.workload.jobs])[jobs], *times)
