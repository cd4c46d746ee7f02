"""Fewest GPUs first; for comparison with the oracles, it knows nothing that they know."""

from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Policy


class SjfGpus(Policy):
    """Fewest GPUs first, preemptive, skips what does not fit (no oracle, compared with them)."""

    name = "sjf-gpus"
    discipline = "preempt"

    def key(self, job: JobView, now: float) -> int:
        """Rank by the size of the gang."""
        return job.gpus
