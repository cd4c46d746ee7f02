"""Shortest remaining time first by what the platform believes, and what it does when it was wrong.

A job that has run for its whole estimate is still there: its remaining time must be guessed anew.
``overrun=floor`` holds it at a share of the estimate, so an underestimated long job keeps the best
place there is until it is done. ``overrun=reestimate`` doubles the estimate each time it is used
up, so the job loses its place to jobs that are believed to be shorter.
"""

from dataclasses import dataclass

from evalstop.detectors.settings import check_settings, setting
from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Policy


@dataclass(frozen=True)
class SrtfEst(Policy):
    """Shortest estimated remaining time first, preemptive, skips what does not fit.

    Parameters
    ----------
    overrun : {"floor", "reestimate"}
        What is left of a job at the end of its estimate: `floor` of the estimate for good, or a
        doubled estimate.
    floor : float
        Least remaining time, as a share of the estimate.
    """

    name = "srtf-est"
    discipline = "preempt"

    overrun: str = setting(
        "floor", choices=("floor", "reestimate"), doc="what is left of a job that used it up"
    )
    floor: float = setting(0.05, low=0, high=1, unit="of the estimate", doc="least remaining time")

    def __post_init__(self) -> None:
        check_settings(self)

    def key(self, job: JobView, now: float) -> float:
        """Rank by the believed time left."""
        left = self._believed(job, now) - job.service(now)
        return max(left, self._least(job))

    def falls(self, job: JobView, now: float) -> int:
        """One second a second down to the floor."""
        return int(self._believed(job, now) - job.service(now) > self._least(job))

    def review(self, job: JobView, now: float) -> float | None:
        """Look again when the floor is reached or the estimate is used up."""
        if not job.running or not self.falls(job, now):
            return None
        return now + (self._believed(job, now) - job.service(now) - self._least(job))

    def _least(self, job: JobView) -> float:
        return self.floor * job.estimate if self.overrun == "floor" else 0

    def _believed(self, job: JobView, now: float) -> float:
        """Give the estimate of the whole job, doubled as often as it was used up."""
        believed = job.estimate
        if self.overrun == "reestimate":
            service = job.service(now)
            while 0 < believed <= service:
                believed *= 2
        return believed
