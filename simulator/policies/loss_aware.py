"""GPUs go where the training loss is expected to fall most (SLAQ, for jobs of fixed size).

The drop of a job's loss over its next logging interval is predicted from a fit to the losses so
far, normalised by the largest drop it has shown, and divided by the GPU-time that the interval
costs. A job without losses counts as if its largest drop lay ahead. Priorities are taken anew at
every decision, so a job loses its GPUs as its curve flattens.

It favours young jobs as `las` does, and says nothing about quality: a job whose loss falls while
its true score falls too looks as good as any.

With ``rate=given`` nothing is fitted: the policy is told each job's loss rate and ranks by the
slope of ``exp(-rate * served / estimate)`` (the form of the paper preset).

References
----------
Zhang et al. (2017), SLAQ: quality-driven scheduling for distributed machine learning, SoCC,
doi:10.1145/3127479.3127490.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalstop.detectors.settings import check_settings, setting
from evalstop.simulator.job import JobView, Truth
from evalstop.simulator.policies.base import Policy
from evalstop.simulator.policies.loss_fit import predicted_drop


@dataclass(frozen=True)
class LossAware(Policy):
    """Largest predicted fall of the loss per GPU-time first, preemptive; oracle if rate=given.

    Parameters
    ----------
    rate : {"fitted", "given"}
        Fit the losses seen so far, or be told the true rate at which each job's loss falls.
    """

    name = "loss-aware"
    discipline = "preempt"

    rate: str = setting("fitted", choices=("fitted", "given"), doc="where the loss curve is from")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def oracle(self) -> bool:  # type: ignore[override]
        """Whether it is told the loss rates."""
        return self.rate == "given"

    @property
    def reads_losses(self) -> bool:  # type: ignore[override]
        """Whether it looks at losses."""
        return self.rate == "fitted"

    def begin(self, gpus: int, truths: Sequence[Truth]) -> Policy:
        """Take the loss rates, or start without any fit."""
        return GivenRates(truths) if self.oracle else FittedRates()


class GivenRates(Policy):
    """Slope of the true curve, with the estimate in place of the duration."""

    discipline = "preempt"

    def __init__(self, truths: Sequence[Truth]) -> None:
        self.truths = truths

    def key(self, job: JobView, now: float) -> float:
        """Rank by the fall of the loss per GPU-second, largest first."""
        rate = self.truths[job.order].loss_rate
        estimate = max(float(job.estimate), 1e-9)
        served = min(float(job.service(now)) / estimate, 2)
        slope = rate * math.exp(-rate * served) / -math.expm1(-rate) if rate else 1.0
        return -slope / (estimate * job.gpus)

    def falls(self, job: JobView, now: float) -> None:
        """Read it before every decision."""


class FittedRates(Policy):
    """Predicted fall over the next logging interval."""

    discipline = "preempt"
    reads_losses = True

    def __init__(self) -> None:
        self.fits: dict[int, tuple[int, float]] = {}  # losses seen, predicted drop

    def key(self, job: JobView, now: float) -> float:
        """Rank by the predicted normalised fall per GPU-second, largest first."""
        seen, drop = self.fits.get(job.order, (0, 1.0))
        if seen != len(job.losses):
            drop = predicted_drop(job.losses)
            self.fits[job.order] = (len(job.losses), drop)
        return -drop / (job.loss_every * job.gpus)

    def falls(self, job: JobView, now: float) -> None:
        """Read it before every decision."""

    def ended(self, job: JobView, now: float) -> bool:
        """Forget the job."""
        self.fits.pop(job.order, None)
        return False
