"""Shortest remaining time first with true durations; best mean response on one server.

References
----------
Schrage (1968), A proof of the optimality of the shortest remaining processing time discipline,
Operations Research 16(3), doi:10.1287/opre.16.3.687.
"""

from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Oracle


class Srtf(Oracle):
    """Oracle: shortest true remaining time first, preemptive, skips what does not fit."""

    name = "srtf"
    discipline = "preempt"

    def key(self, job: JobView, now: float) -> float:
        """Rank by the true time left."""
        return self.truths[job.order].duration - job.service(now)

    def falls(self, job: JobView, now: float) -> float:
        """One second a second."""
        return 1
