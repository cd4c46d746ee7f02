"""First in, first out; the job in front waits for its GPUs, and all others wait behind it."""

from typing import ClassVar

from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Discipline, Policy


class Fifo(Policy):
    """Order of submission, non-preemptive; the head of the line blocks."""

    name = "fifo"
    discipline: ClassVar[Discipline] = "block"

    def key(self, job: JobView, now: float) -> float:
        """Rank by submit time."""
        return job.submit
