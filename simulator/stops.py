"""When jobs are stopped before they are done: what the event loop asks of a stop rule."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from evalstop.detectors.monitor import Monitor
from evalstop.detectors.observation import CHANNELS, Runs
from evalstop.simulator.exact import exact, written
from evalstop.simulator.job import Job, JobView, Truth, Workload
from evalstop.simulator.run import Stop


class Attempt(NamedTuple):
    """A job as it is submitted again, and what is true of it."""

    job: Job
    truth: Truth


class Reaction(NamedTuple):
    """What is done about an alarm.

    Parameters
    ----------
    delay : float
        Seconds from the alarm to what is done about it.
    deprioritise : bool
        Whether the job then goes behind all others, instead of leaving.
    resubmit : mapping of int to str
        Which jobs are submitted again when they are stopped: with all of their work (``restart``)
        or with what was left (``resume``).
    """

    delay: float = 0
    deprioritise: bool = False
    resubmit: Mapping[int, str] = MappingProxyType({})


AT_ONCE = Reaction()


class Cluster(Protocol):
    """What a stop rule may do to the cluster."""

    work: list[float]  # of each job, in seconds
    preemptions: list[int]
    saves: dict[int, float]  # until when preempted jobs save

    def aim(self, job: JobView) -> None:
        """Set the next event of a running job: its mark or its end."""

    def call(self, job: JobView, time: float) -> None:
        """Call `Stops.react` at that time, if the job is still there."""

    def wake(self, job: JobView, time: float) -> None:
        """See to it that the key of a job whose `wake` is that time is read then."""

    def stop(self, job: JobView, now: float) -> None:
        """Let a job go before it is done; it holds GPUs or waits for them."""

    def submit_again(self, i: int, job: Job, truth: Truth, now: float) -> None:
        """Queue a job that was stopped as a new one."""


class Stops:
    """The stops of one run, known beforehand: where an eval alarms does not depend on schedules.

    Parameters
    ----------
    workload : Workload
        The jobs.
    alarms : sequence of float
        Progress of each job at its first alarm; infinite = none.
    reaction : Reaction
        What is done about an alarm.

    Attributes
    ----------
    marks : list of float
        Seconds of work of each job after which it must be asked about next; infinite = never again.
    alarms, stopped, demoted, at_last
        What has happened: `Run.alarms`, `Run.stops`, `Run.demoted`, `Run.alarms_at_last`.
    """

    def __init__(
        self, workload: Workload, alarms: Sequence[float], reaction: Reaction = AT_ONCE
    ) -> None:
        self.reaction = reaction
        self._workload = workload
        self.marks = [self._position(i, progress) for i, progress in enumerate(alarms)]
        self.alarms: dict[int, float] = {}
        self.stopped: dict[int, Stop] = {}
        self.demoted: set[int] = set()
        self.at_last: set[int] = set()

    def goes_on(self, job: JobView, now: float, cluster: Cluster) -> bool:
        """Ask about a job that has come to its mark or its end; where both meet, the end wins."""
        i, work = job.order, cluster.work[job.order]
        if self.marks[i] < work:
            if self._alarm(i):
                self.alarms[i] = now
                cluster.call(job, now + self.reaction.delay)
            cluster.aim(job)
            return True
        while self.marks[i] <= work:
            if self._alarm(i):
                self.at_last.add(i)
        return False

    def react(self, job: JobView, now: float, cluster: Cluster) -> bool:
        """Do what is to be done about an alarm; true = somebody else may run now."""
        i = job.order
        if self.reaction.deprioritise:
            self.demoted.add(i)
            job.demoted, job.wake = True, now
            cluster.wake(job, now)  # its key is read in its turn among all that are read now
            return False
        if i in cluster.saves:  # it gives its GPUs back first
            cluster.call(job, cluster.saves[i])
            return False
        done = job.service(now)
        cluster.stop(job, now)
        again = self._again(i, done, now)
        self.stopped[i] = Stop(
            now, done, cluster.preemptions[i], again.truth.duration if again else 0
        )
        if again:
            self.marks[i] = math.inf
            cluster.submit_again(i, *again, now)
        return True

    def _alarm(self, i: int) -> bool:
        """Say whether a job that has come to its mark has an alarm there, and set its next mark."""
        self.marks[i] = math.inf
        return True

    def _again(self, i: int, done: float, now: float) -> Attempt | None:
        """Give a job that was stopped after some work as it is submitted again, if it is."""
        how = self.reaction.resubmit.get(i)
        if how is None:
            return None
        job, truth = replace(self._workload.jobs[i], submit=now), self._workload.truths[i]
        if how == "restart":
            return Attempt(job, truth)
        left = 1 - done / truth.duration
        return Attempt(
            replace(job, estimate=job.estimate * left),
            Truth(truth.duration - done, truth.loss_rate * left),
        )

    def _position(self, i: int, progress: float) -> float:
        """Give the seconds of work at a progress, exact where the work is; never beyond its end."""
        if progress > 1:
            return math.inf
        work = self._workload.truths[i].duration
        if isinstance(work, float):
            return progress * work
        return _exact(progress) * work


@lru_cache(maxsize=1024)
def _exact(progress: float) -> float:
    return exact(written(progress))


class LiveStops(Stops):
    """The same stops, found while the cluster runs: a monitor is asked at every eval.

    Parameters
    ----------
    workload : Workload
        The jobs.
    runs : Runs
        The run behind each of them.
    monitor : Monitor
        A new one.
    stoppable : sequence of bool
        Which jobs it may stop.
    reaction : Reaction
        As in `Stops`.
    """

    def __init__(
        self,
        workload: Workload,
        runs: Runs,
        monitor: Monitor,
        stoppable: Sequence[bool],
        reaction: Reaction,
    ) -> None:
        assert runs.progress is not None
        self._monitor, self._n_evals = monitor, runs.n_evals.tolist()
        self._progress = np.asarray(runs.progress).tolist()
        given = {c: v for c in CHANNELS if (v := getattr(runs, c)) is not None}
        self._evals = [
            [dict(zip(given, values, strict=True)) for values in zip(*rows, strict=True)]
            for rows in zip(*(v.tolist() for v in given.values()), strict=True)
        ]
        self._next = [0] * len(runs)
        first = [
            progress[0] if may and n else math.inf
            for progress, may, n in zip(self._progress, stoppable, self._n_evals, strict=True)
        ]
        super().__init__(workload, first, reaction)

    def _alarm(self, i: int) -> bool:
        """Show the monitor the eval that the job has come to."""
        verdict = self._monitor.update(str(i), **self._evals[i][self._next[i]])
        self._next[i] += 1
        over = verdict.alarm or self._next[i] == self._n_evals[i]
        self.marks[i] = math.inf if over else self._position(i, self._progress[i][self._next[i]])
        return verdict.alarm
