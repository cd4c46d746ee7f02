"""The queue of an elastic policy: no order of jobs, but a number of GPUs for each, in rounds."""

import math

from evalstop.detectors.settings import name_of
from evalstop.errors import UserError
from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Elastic, Policy
from evalstop.simulator.queues import Cluster, Observer, Queue


class ElasticQueue(Queue):
    """All jobs of the cluster but those that save; parameters as `Queue`.

    Rounds are held at multiples of the policy's interval if a job has come or left since the last
    one: otherwise there is nothing new to know.
    """

    def __init__(self, policy: Policy, cluster: Cluster, observe: Observer | None = None) -> None:
        super().__init__(policy, cluster, observe)
        assert isinstance(policy, Elastic)
        self._elastic = policy
        self._jobs: dict[JobView, None] = {}  # a set in the order of coming
        self._round = math.nan  # when the next one is due

    def arrive(self, job: JobView, now: float) -> None:
        """Take a job that has no GPUs."""
        self._jobs[job] = None
        self._call(now)

    def leave(self, job: JobView, now: float) -> None:
        """Forget a job that has ended or was stopped."""
        del self._jobs[job]
        self._policy.ended(job, now)
        self._call(now)

    def review(self, job: JobView | None, now: float) -> bool:
        """Hold the round that is due, or see to it that there is one."""
        if job is not None:
            self._call(now)
        elif now == self._round:
            self._hold(now)
            self._round = math.nan
        return False

    def _call(self, now: float) -> None:
        """Have a round at the next multiple of the interval; now, if this is one."""
        if math.isnan(self._round):
            every = self._elastic.every
            self._round = max(now, math.ceil(now / every) * every)
            self._cluster.wake(None, self._round)

    def _hold(self, now: float) -> None:
        """Give all GPUs anew: first to jobs that are not demoted."""
        cluster, moved = self._cluster, []
        left = cluster.free + sum(job.gpus for job in self._jobs if job.running)
        for demoted in (False, True):
            jobs = [job for job in self._jobs if job.demoted == demoted]
            if not jobs:
                continue
            sizes = self._elastic.allocate(jobs, left, now) if left else [0] * len(jobs)
            left -= sum(sizes)
            if left < 0 or min(sizes) < 0 or len(sizes) != len(jobs):
                raise UserError(
                    f"scheduler {name_of(self._policy)}: it must give each job a number of GPUs, "
                    "no more than there are"
                )
            moved += [
                (job, size)
                for job, size in zip(jobs, sizes, strict=True)
                if size != (job.gpus if job.running else 0)
            ]
        for job, _ in moved:
            if job.running:
                del self._jobs[job]
                cluster.preempt(job, now)
        for job, size in moved:
            if size and job in self._jobs and size <= cluster.free:
                job.gpus, job.speed = size, self._elastic.speed(job, size)
                cluster.start(job, now)
