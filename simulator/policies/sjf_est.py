"""Shortest job first by what the platform believes."""

from typing import ClassVar

from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Discipline, Policy


class SjfEst(Policy):
    """Shortest estimated duration first, non-preemptive; the head of the line blocks."""

    name = "sjf-est"
    discipline: ClassVar[Discipline] = "block"

    def key(self, job: JobView, now: float) -> float:
        """Rank by the estimate."""
        return job.estimate
