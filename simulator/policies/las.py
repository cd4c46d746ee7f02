"""Least attained service, discretised: jobs that have run briefly go first.

Needs no estimate. Finishes short jobs early without knowing which are short, and lets long ones
starve in the last queue while short ones keep coming (`promote` forgives).

References
----------
Nuyens, Wierman (2008), The Foreground-Background queue, Performance Evaluation 65,
doi:10.1016/j.peva.2007.06.028; Gu et al. (2019), Tiresias, NSDI.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from evalstop.detectors.settings import check_settings, setting
from evalstop.errors import UserError
from evalstop.simulator.job import Truth
from evalstop.simulator.policies.base import Policy
from evalstop.simulator.policies.feedback import Queues


@dataclass(frozen=True)
class Las(Policy):
    """Least attained service in queues, first in first out inside, preemptive, skips.

    Parameters
    ----------
    unit : {"seconds", "gpu-seconds"}
        What is attained: seconds of work, or seconds times GPUs.
    thresholds : tuple of float
        Limits of all queues but the last, increasing.
    requeue : {"tail", "fifo"}
        Whether waiting jobs go behind running ones after every decision.
    promote : float
        Return to the first queue after waiting this many times the service; 0 = never.
    """

    name = "las"
    discipline = "preempt"

    unit: str = setting("seconds", choices=("seconds", "gpu-seconds"), doc="what is attained")
    thresholds: tuple[float, ...] = setting((3250.0, 7200.0), unit="unit", doc="limits of queues")
    requeue: str = setting("tail", choices=("tail", "fifo"), doc="order inside a queue")
    promote: float = setting(0.0, low=0, unit="services", doc="wait that is forgiven; 0 = never")

    def __post_init__(self) -> None:
        check_settings(self)
        rising = (0.0, *self.thresholds)
        if any(not low < high for low, high in pairwise(rising)):
            raise UserError(
                f"{self.name}: thresholds must be positive and increase, got {self.thresholds}"
            )

    def begin(self, gpus: int, truths: Sequence[Truth]) -> Policy:
        """Open the queues of one run."""
        return Queues(
            self.thresholds,
            self.promote,
            per_gpu=self.unit == "gpu-seconds",
            tail=self.requeue == "tail",
        )
