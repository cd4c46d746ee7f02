"""Shortest remaining service first: the time left weighs as many GPUs as it holds.

References
----------
Gu et al. (2019), Tiresias: a GPU cluster manager for distributed deep learning, NSDI.
"""

from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Oracle


class Srsf(Oracle):
    """Oracle: shortest true remaining GPU-time first, preemptive, skips what does not fit."""

    name = "srsf"
    discipline = "preempt"

    def key(self, job: JobView, now: float) -> float:
        """Rank by the true GPU-time left."""
        return (self.truths[job.order].duration - job.service(now)) * job.gpus

    def falls(self, job: JobView, now: float) -> float:
        """As many GPU-seconds a second as it holds GPUs."""
        return job.gpus
