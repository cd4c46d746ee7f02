"""Shortest job first with true durations: what an estimate can at best give."""

from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Oracle


class SjfSkip(Oracle):
    """Oracle: shortest true duration first, non-preemptive; skips what does not fit."""

    name = "sjf-skip"
    discipline = "skip"

    def key(self, job: JobView, now: float) -> float:
        """Rank by the true duration."""
        return self.truths[job.order].duration
