"""Pollux: every job runs on as many GPUs as are worth most to all of them together.

The goodput of a job is its throughput times its statistical efficiency. On n of its n0 requested
GPUs, with s times its initial batch, a step takes ``(1 - sync) s n0/n + sync`` of the time that it
takes as requested (the part `sync` does not shrink with more GPUs), so

    throughput = s / ((1 - sync) s n0/n + sync),   efficiency = (1 + noise) / (s + noise),

noise = var/sqr being the gradient noise scale in units of the initial batch: ``(var + sqr) /
(var/s + sqr) / s``. The batch is the best one of at least the initial batch, s^2 = noise sync/(1 -
sync) n/n0. Progress per second is goodput over the goodput as requested.

GPUs are given one after the other where they raise the power mean (p = -1) of the jobs' speedups
most, that is, lower the sum of 1/speedup. A job's speedup is its goodput over that on its fair
share, GPUs over jobs. A change costs a restart, so speedups on other numbers of GPUs than now count
``(T - R restart) / (T + restart)`` for a job of age T that has been restarted R times. Jobs without
GPUs come first, by submit time.

What is left out: placement on nodes, a law of throughput for each model and its profiling, noise
that grows as a job goes on. Rounds in which nobody came or went since the last are skipped.

References
----------
Qiao et al. (2021), Pollux: co-adaptive cluster scheduling for goodput-optimized deep learning,
OSDI.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from evalstop.detectors.settings import check_settings, setting
from evalstop.simulator.job import JobView, Truth
from evalstop.simulator.policies.base import Elastic, Policy

Step = tuple[float, int, int, JobView]
"""Minus the gain per GPU, order of submission, new number of GPUs, job."""


@dataclass(frozen=True)
class Pollux(Elastic):
    """Elastic jobs, GPUs to where the goodput gains most, in rounds; a change costs a restart.

    Parameters
    ----------
    every : float
        Seconds between two rounds.
    restart : float
        Seconds that a job pays when its number of GPUs changes, in place of the cluster's overhead.
    sync : float
        Share of a step, as requested, that does not shrink with more GPUs.
    noise : float
        Gradient noise scale, in units of the initial batch: how much larger a batch may be before
        half of every example is wasted.
    most : float
        Most GPUs of a job, in units of what it requested.
    """

    name = "pollux"

    every: float = setting(60.0, low=1, unit="s", doc="time between two rounds")
    restart: float = setting(30.0, low=0, unit="s", doc="price of a changed number of GPUs")
    sync: float = setting(0.1, low=0, high=0.99, doc="share of a step that no GPU shortens")
    noise: float = setting(9.0, low=0, unit="initial batches", doc="gradient noise scale")
    most: float = setting(4.0, low=1, unit="of the request", doc="most GPUs of a job")

    def __post_init__(self) -> None:
        check_settings(self)

    def begin(self, gpus: int, truths: Sequence[Truth]) -> Policy:
        """Open the books of one run."""
        return Books(self)

    def progress(self, share: float) -> float:
        """Give the speed of a job on a share of the GPUs that it requested, 1 at 1."""
        batch = max(1.0, math.sqrt(self.noise * self.sync / (1 - self.sync) * share))
        throughput = batch / ((1 - self.sync) * batch / share + self.sync)
        return throughput * (1 + self.noise) / (batch + self.noise)


class Books(Elastic):
    """One run of a `Pollux`, which counts the restarts."""

    def __init__(self, law: Pollux) -> None:
        self.law, self.every, self.restart = law, law.every, law.restart
        self.restarts: dict[int, int] = {}
        self.progress = lru_cache(maxsize=None)(law.progress)

    def speed(self, job: JobView, gpus: int) -> float:
        """Give the progress on so many GPUs."""
        return self.progress(gpus / job.requested)

    def ended(self, job: JobView, now: float) -> bool:
        """Forget a job."""
        self.restarts.pop(job.order, None)
        return False

    def allocate(self, jobs: Sequence[JobView], gpus: int, now: float) -> list[int]:
        """Raise the numbers of GPUs step by step, the best gain per GPU first."""
        sizes = dict.fromkeys(jobs, 0)
        for job in sorted(jobs, key=lambda job: (job.submit, job.order))[:gpus]:
            sizes[job] = 1
        left = gpus - sum(sizes.values())
        costs = {job: self._costs(job, gpus, len(jobs), now) for job in jobs}
        steps = [step for job in jobs if (step := _best(job, sizes[job], costs[job], left))]
        heapq.heapify(steps)
        while steps:
            _, _, size, job = heapq.heappop(steps)
            if size - sizes[job] <= left:
                left -= size - sizes[job]
                sizes[job] = size
            following = _best(job, sizes[job], costs[job], left)
            if following:
                heapq.heappush(steps, following)
        for job, size in sizes.items():
            if job.running and size != job.gpus:
                self.restarts[job.order] = self.restarts.get(job.order, 0) + 1
        return list(sizes.values())

    def _costs(self, job: JobView, gpus: int, jobs: int, now: float) -> list[float]:
        """Give 1/speedup of a job on 0, 1, 2, ... GPUs."""
        fair = self.progress(gpus / jobs / job.requested)
        most = min(gpus, int(self.law.most * job.requested))
        costs = [math.inf, *(fair / self.speed(job, n) for n in range(1, most + 1))]
        if job.running:
            age, price = now - job.submit, self.law.restart
            restarts = self.restarts.get(job.order, 0)
            worth = max((age - restarts * price) / (age + price), 1e-9)
            costs = [c if n == job.gpus else c / worth for n, c in enumerate(costs)]
        return costs


def _best(job: JobView, size: int, costs: list[float], left: int) -> Step | None:
    """Give the step up that gains most per GPU, if one fits and gains anything."""
    best, to = 0.0, 0
    if size:
        for n in range(size + 1, min(size + left + 1, len(costs))):
            gain = (costs[size] - costs[n]) / (n - size)
            if gain > best:
                best, to = gain, n
    return (-best, job.order, to, job) if to else None
