"""The training loss that a platform sees while a job runs.

A value for every twentieth of the *estimate* in seconds of work: a scheduler can count them without
learning how far the job is. The law is the paper preset's, ``.3 + exp(-rate * progress)`` with
noise of sd .004.
"""

import math
from collections.abc import Sequence

import numpy as np

from evalstop.simulator.job import Job, JobView, Truth

FLOOR, NOISE = 0.3, 0.004
VALUES_PER_ESTIMATE = 20


class LoggingJob(JobView):
    """A view of a job with its training log."""

    __slots__ = ("loss_every", "losses")

    def __init__(self, job: Job, order: int) -> None:
        super().__init__(job, order)
        self.losses: list[float] = []
        self.loss_every = max(float(job.estimate) / VALUES_PER_ESTIMATE, 1e-9)


class LossLog:
    """Writes the losses of running jobs into their views.

    Parameters
    ----------
    truths : sequence of Truth
        By the order of the jobs.
    seed : int
        Of the noise; a job's noise does not depend on when it runs.
    """

    def __init__(self, truths: Sequence[Truth], seed: int) -> None:
        self._truths = truths
        self._seed = seed
        self._noise: dict[int, np.random.Generator] = {}

    def update(self, job: JobView, now: float) -> None:
        """Add the losses that `job` has logged by `now`."""
        assert isinstance(job, LoggingJob)
        if not job.running and not job.losses:
            return
        truth, noise = self._truths[job.order], self._noise.get(job.order)
        if noise is None:
            seed = np.random.SeedSequence([self._seed, job.order])
            noise = self._noise[job.order] = np.random.default_rng(seed)
        seen = int(job.service(now) / job.loss_every * (1 + 1e-9)) + 1
        for k in range(len(job.losses), seen):
            progress = min(k * job.loss_every / max(float(truth.duration), 1e-9), 1)
            loss = FLOOR + math.exp(-truth.loss_rate * progress)
            job.losses.append(loss + NOISE * float(noise.standard_normal()))
