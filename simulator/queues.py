"""The waiting jobs in the order of a policy, and who may start: found without looking at all.

Of the waiting jobs that need the same number of GPUs only the first can matter: a scan in order of
key leaves ever fewer GPUs, so when it does not fit those behind it do not either. One heap for each
demand ("line") is enough, however long the queue is.
"""

import heapq
import math
from collections.abc import Callable
from functools import total_ordering
from itertools import count
from typing import Any, Protocol

from evalstop.detectors.settings import name_of
from evalstop.errors import UserError
from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Policy

Entry = tuple[Any, int, int, JobView]
"""Key, order of submission, serial number (entries of one job differ), job."""

Observer = Callable[[JobView, float], None]
"""Brings the losses of a view up to date."""


class Cluster(Protocol):
    """What a queue may do to the cluster."""

    free: int
    saving: int  # GPUs that preempted jobs still hold while they save

    def start(self, job: JobView, now: float) -> None:
        """Give a job its GPUs."""

    def preempt(self, job: JobView, now: float) -> None:
        """Take the GPUs of a job; it comes back through `Queue.arrive` when it has saved."""

    def wake(self, job: JobView | None, time: float) -> None:
        """Call `Queue.review` at that time; without a job, of no job in particular."""


@total_ordering
class Demoted:
    """The key of a demoted job: behind all keys of other jobs, as it was among its like."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:  # noqa: ANN401 - whatever sorts
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Demoted) and bool(self.key == other.key)

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Demoted) and bool(self.key < other.key)

    __hash__ = None  # type: ignore[assignment]


class Queue:
    """The queue of a policy that skips what does not fit.

    Parameters
    ----------
    policy : Policy
        As `Policy.begin` gave it.
    cluster : Cluster
        Where jobs start.
    observe : callable, optional
        Called before a key is read.
    """

    def __init__(self, policy: Policy, cluster: Cluster, observe: Observer | None = None) -> None:
        self._policy = policy
        self._cluster = cluster
        self._observe = observe
        self._reviews = type(policy).review is not Policy.review
        self._lines: dict[int, list[Entry]] = {}
        self._serial = count()
        self.wanted = 0  # GPUs that the waiting jobs need together
        self.reviewed: list[JobView] = []  # running jobs whose keys are read again after the pass

    def arrive(self, job: JobView, now: float) -> None:
        """Queue a job that has no GPUs."""
        self.wanted += job.gpus
        self._queue(job, now)

    def leave(self, job: JobView, now: float) -> None:
        """Learn that a job has ended, or was stopped while it waited."""
        if not job.running:
            self.wanted -= job.gpus
        job.entry = None
        if self._policy.ended(job, now):
            self._reread(now)

    def review(self, job: JobView | None, now: float) -> bool:
        """Read the key of a job again, if it still asks for that; true = decide."""
        if job is None or job.wake != now or job.running or job.entry is None:
            return False
        self._queue(job, now)
        return True

    def decide(self, now: float) -> None:
        """Start all that fit, in order of key."""
        cluster = self._cluster
        heads = [
            head
            for demand, line in self._lines.items()
            if demand <= cluster.free and (head := self._head(line))
        ]
        heapq.heapify(heads)
        while heads:
            job = heads[0][3]
            if job.gpus > cluster.free:
                heapq.heappop(heads)
            else:
                self._take(heads)
                self.wanted -= job.gpus
                cluster.start(job, now)

    def _line(self, job: JobView) -> list[Entry]:
        line = self._lines.get(job.gpus)
        if line is None:
            line = self._lines[job.gpus] = []
        return line

    def _head(self, line: list[Entry]) -> Entry | None:
        """Give the first job of a line; entries that were replaced are dropped on the way."""
        while line and line[0][3].entry is not line[0]:
            heapq.heappop(line)
        return line[0] if line else None

    def _take(self, heads: list[Entry]) -> Entry:
        """Take the first of the heads from its line; the next of the line becomes a head."""
        line = self._line(heads[0][3])
        taken = heapq.heappop(line)
        following = self._head(line)
        if following:
            heapq.heapreplace(heads, following)
        else:
            heapq.heappop(heads)
        return taken

    def _key(self, job: JobView, now: float) -> Any:  # noqa: ANN401 - whatever sorts
        if self._observe:
            self._observe(job, now)
        key = self._policy.key(job, now)
        if key != key:  # noqa: PLR0124 - nan does not sort
            raise UserError(f"scheduler {name_of(self._policy)}: the key of job {job.id} is nan")
        return Demoted(key) if job.demoted else key

    def _queue(self, job: JobView, now: float) -> None:
        job.entry = (self._key(job, now), job.order, next(self._serial), job)
        heapq.heappush(self._line(job), job.entry)
        if self._reviews:
            self._wake(job, self._policy.review(job, now), now)

    def _wake(self, job: JobView, time: float | None, now: float) -> None:
        if time is not None:
            if time <= now:  # a rounding error before the moment it waits for
                time = math.nextafter(now, math.inf)
            self._cluster.wake(job, time)
        job.wake = time

    def _reread(self, now: float) -> None:
        """Read every key again."""
        for line in self._lines.values():
            jobs = [entry[3] for entry in line if entry[3].entry is entry]
            line.clear()
            for job in jobs:
                self._queue(job, now)


class BlockingQueue(Queue):
    """The queue of a policy that blocks: one line for all."""

    def decide(self, now: float) -> None:
        """Start jobs in order of key up to the first that does not fit."""
        line, cluster = self._lines[0], self._cluster
        while (head := self._head(line)) and head[3].gpus <= cluster.free:
            heapq.heappop(line)
            self.wanted -= head[3].gpus
            cluster.start(head[3], now)

    def _line(self, job: JobView) -> list[Entry]:
        return self._lines.setdefault(0, [])
