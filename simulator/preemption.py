"""The queue of a preemptive policy: running jobs keep their GPUs only while they are in front.

Keys of waiting jobs stand still, and those of running jobs fall at a rate that the policy knows
(`Policy.falls`). Running jobs that fall alike keep their order, so each rate has one sorted list
("lane") of ``key + rate * time of reading``, and nothing is re-sorted as time goes by.

A decision equals this scan: go through waiting and running jobs in order of key (ties: order of
submission) and give each its GPUs if enough are left. It is found from the back: a waiting job gets
GPUs if those that are free and those that running jobs behind it hold are enough for it.
"""

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any

from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Policy
from evalstop.simulator.queues import Cluster, Entry, Observer, Queue

Place = tuple[Any, int, JobView]
"""Key at this moment, order of submission, running job."""


class PreemptiveQueue(Queue):
    """Waiting and running jobs in the order of a policy; parameters as `Queue`."""

    def __init__(self, policy: Policy, cluster: Cluster, observe: Observer | None = None) -> None:
        super().__init__(policy, cluster, observe)
        self._lanes: dict[float | None, list[Entry]] = {}
        self._lane_of: dict[JobView, list[Entry]] = {}

    def leave(self, job: JobView, now: float) -> None:
        """Forget a job that has ended, or was stopped while it waited."""
        if job.running:
            self._unfile(job)
        super().leave(job, now)

    def review(self, job: JobView | None, now: float) -> bool:
        """Read the key of a job again, if it still asks for that; true = decide."""
        if job is None or job.wake != now or not job.running:
            return super().review(job, now)
        self._unfile(job)
        self._file(job, now)
        self.reviewed.append(job)
        return True

    def decide(self, now: float) -> None:
        """Give all GPUs anew."""
        spare = self._cluster.free + self._cluster.saving
        if self.wanted > spare:
            self._refresh(now)
        heads = [head for line in self._lines.values() if (head := self._head(line))]
        heapq.heapify(heads)
        started: list[Entry] = []
        preempted: list[JobView] = []
        while heads or spare < 0:
            if spare < 0:
                # somebody behind the last job taken no longer fits: the first one in order whose
                # followers hold too few GPUs to make up for it
                key, order, loser = self._holding(-spare, now)
                if not heads or (key, order) < heads[0][:2]:
                    self._unfile(loser)
                    preempted.append(loser)
                    spare += loser.gpus
                    continue
            lacking = heads[0][3].gpus - spare
            if lacking <= 0 or self._behind(heads[0], lacking, now):
                started.append(self._take(heads))
                spare -= started[-1][3].gpus
            else:
                heapq.heappop(heads)
        self._carry_out(started, preempted, now)

    def _carry_out(self, started: list[Entry], preempted: list[JobView], now: float) -> None:
        """Move the jobs, then read the keys of all that moved."""
        for job in reversed(preempted):  # the last in order first: a policy may put each in front
            self._cluster.preempt(job, now)
        moved = []
        for entry in started:
            job = entry[3]
            if job.gpus > self._cluster.free:  # others are still saving on its GPUs
                heapq.heappush(self._line(job), entry)
                continue
            self.wanted -= job.gpus
            self._cluster.start(job, now)
            moved.append(job)
        for job in self.reviewed:
            if job.running:
                moved.append(job)
                self._unfile(job)
        self.reviewed.clear()
        for job in moved:
            self._file(job, now)

    def _file(self, job: JobView, now: float) -> None:
        """Put a running job in the lane of its rate."""
        rate, review = None if job.demoted else self._policy.falls(job, now), None
        if rate and job.since > now:  # no work is done before the overhead is paid
            rate, review = 0, job.since
        key = self._key(job, now)
        lane = self._lanes.setdefault(rate, [])
        job.entry = (key + rate * now if rate else key, job.order, next(self._serial), job)
        insort(lane, job.entry)
        self._lane_of[job] = lane
        self._wake(job, self._policy.review(job, now) if review is None else review, now)

    def _unfile(self, job: JobView) -> None:
        lane = self._lane_of.pop(job)
        del lane[bisect_left(lane, job.entry)]

    def _refresh(self, now: float) -> None:
        """Read the keys that move in a way of their own."""
        lane = self._lanes.get(None)
        if lane:
            for i, (_, order, serial, job) in enumerate(lane):
                lane[i] = job.entry = (self._key(job, now), order, serial, job)
            lane.sort()

    def _reread(self, now: float) -> None:
        super()._reread(now)
        for job in [entry[3] for lane in self._lanes.values() for entry in lane]:
            self._unfile(job)
            self._file(job, now)

    def _least_urgent_first(self, now: float) -> Iterator[Place]:
        """Go through the running jobs from the back."""
        lanes = [_from_the_back(lane, rate, now) for rate, lane in self._lanes.items() if lane]
        return lanes[0] if len(lanes) == 1 else heapq.merge(*lanes, reverse=True)

    def _holding(self, gpus: int, now: float) -> Place:
        """Give the running job that, with all jobs behind it, holds at least so many GPUs."""
        for place in self._least_urgent_first(now):
            gpus -= place[2].gpus
            if gpus <= 0:
                return place
        raise AssertionError("more GPUs are lacking than running jobs hold")

    def _behind(self, head: Entry, gpus: int, now: float) -> bool:
        """Say whether the running jobs behind a waiting one hold at least so many GPUs."""
        for key, order, job in self._least_urgent_first(now):
            if (key, order) < head[:2]:
                return False
            gpus -= job.gpus
            if gpus <= 0:
                return True
        return False


def _from_the_back(lane: list[Entry], rate: float | None, now: float) -> Iterator[Place]:
    for key, order, _, job in reversed(lane):
        yield (key - rate * now if rate else key), order, job
