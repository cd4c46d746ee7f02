"""Discretised two-dimensional least attained service: GPUs times time, in queues.

With ``rank=gittins`` the order inside a queue is by Gittins rank: the chance that a job is done
within the next `delta` of service, over the service it is expected to need for that, both from the
jobs that have ended so far. A job's service counts in whole steps of `delta`; the past is taken
anew whenever it has grown by a tenth.

References
----------
Gu et al. (2019), Tiresias: a GPU cluster manager for distributed deep learning, NSDI.
"""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from evalstop.detectors.settings import setting
from evalstop.simulator.exact import exact, written
from evalstop.simulator.job import JobView, Truth
from evalstop.simulator.policies.base import Policy
from evalstop.simulator.policies.feedback import Queues
from evalstop.simulator.policies.las import Las


@dataclass(frozen=True)
class Tiresias(Las):
    """Least attained GPU-time in queues (2D-LAS), preemptive, skips; rank=gittins inside a queue.

    Parameters
    ----------
    unit, thresholds, requeue, promote
        As in `las`; the unit is GPU-seconds by default.
    rank : {"fifo", "gittins"}
        Order inside a queue.
    delta : float
        Step of the Gittins rank, in `unit`.
    """

    name = "tiresias"

    unit: str = setting("gpu-seconds", choices=("seconds", "gpu-seconds"), doc="what is attained")
    rank: str = setting("fifo", choices=("fifo", "gittins"), doc="order inside a queue")
    delta: float = setting(3250.0, low=1, unit="unit", doc="step of the Gittins rank")

    def begin(self, gpus: int, truths: Sequence[Truth]) -> Policy:
        """Open the queues of one run."""
        if self.rank == "fifo":
            return super().begin(gpus, truths)
        per_gpu = self.unit == "gpu-seconds"
        return GittinsQueues(
            self.thresholds, self.promote, per_gpu=per_gpu, delta=exact(written(self.delta))
        )


class GittinsQueues(Queues):
    """Feedback queues ordered by Gittins rank, then by submission."""

    def __init__(
        self, thresholds: Sequence[float], promote: float, *, per_gpu: bool, delta: float
    ) -> None:
        super().__init__(thresholds, promote, per_gpu=per_gpu, tail=False)
        self.delta = delta
        self.sizes: list[float] = []  # of all jobs that have ended, rising
        self.past = Past([], delta)

    def key(self, job: JobView, now: float) -> Any:  # noqa: ANN401 - a tuple
        """Rank by queue and Gittins rank; ties by submission."""
        super().key(job, now)
        level = self.levels[job.order]
        return (level.queue, -self.past.rank(self._steps(job, now) * self.delta))

    def review(self, job: JobView, now: float) -> float | None:
        """Look again at the next step of service too."""
        found = super().review(job, now)
        if not job.running:
            return found
        step = (self._steps(job, now) + 1) * self.delta
        at = max(now, job.since) + self.seconds_until(step, job, now)
        return at if found is None else min(at, found)

    def ended(self, job: JobView, now: float) -> bool:
        """Remember how much service the job took."""
        bisect.insort(self.sizes, job.service(now) * (job.gpus if self.per_gpu else 1))
        super().ended(job, now)
        if len(self.sizes) <= 1.1 * len(self.past.sizes):
            return False
        self.past = Past(self.sizes, self.delta)
        return True

    def _steps(self, job: JobView, now: float) -> int:
        return int((self.attained(job, now) * (1 + 1e-9)) // self.delta)


class Past:
    """Sizes of the jobs that have ended, and what they say about a job that has not.

    Parameters
    ----------
    sizes : sequence of float
        Service that they took, rising.
    delta : float
        How far ahead the rank looks.

    >>> past = Past([1, 2, 10], delta=2)
    >>> past.rank(0), past.rank(2)  # 2 of 3 end within 2, after 5/3; 0 of 1
    (0.4, 0.0)
    """

    def __init__(self, sizes: Sequence[float], delta: float) -> None:
        self.sizes = [float(s) for s in sizes]
        self.delta = float(delta)
        self.sums = [0.0, *accumulate(self.sizes)]

    def rank(self, attained: float) -> float:
        """Give chance over expected service for a job with that much service; 0 if unheard of."""
        attained = float(attained)
        low = bisect.bisect_right(self.sizes, attained)
        high = bisect.bisect_right(self.sizes, attained + self.delta)
        longer = len(self.sizes) - low
        if not longer:
            return 0.0
        spent = self.sums[high] - self.sums[low] - attained * (high - low)
        spent += self.delta * (len(self.sizes) - high)
        return (high - low) / spent
