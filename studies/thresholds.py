"""Where the threshold of a detector comes from, as a config with a spec like everything else."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.benchmarks.matched import matched_threshold
from evalstop.detectors.catalogue import Catalogue
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.rules import Detector, natural_threshold
from evalstop.detectors.settings import check_settings, setting
from evalstop.errors import UserError


@dataclass(frozen=True)
class Threshold(ABC):
    """A way to choose a threshold.

    Parameters
    ----------
    last : bool
        Whether an alarm at the last eval counts, as in the paper. It saves nothing; where it does
        not count, it spends none of the budget of false alarms either.
    """

    name: ClassVar[str]
    last: bool = setting(True, doc="whether an alarm at the last eval counts")

    def __post_init__(self) -> None:
        check_settings(self)

    def fits(self, detector: Detector) -> bool:
        """Tell whether the detector has such a threshold."""
        return True

    @abstractmethod
    def value(
        self, detector: Detector, healthy: Callable[[], FloatArray], stoppable: float
    ) -> float:
        """Give the threshold.

        Parameters
        ----------
        detector : Detector
            The rule.
        healthy : callable
            Gives the largest statistics of healthy calibration runs of the same world, ``(n,)``.
        stoppable : float
            Share of these among all jobs that are not hacking; the others cannot be stopped.
        """


@dataclass(frozen=True)
class Natural(Threshold):
    """The threshold that is part of the rule's own definition (k-decline's k)."""

    name: ClassVar[str] = "natural"

    def fits(self, detector: Detector) -> bool:
        """Only some rules have one."""
        return natural_threshold(detector) is not None

    def value(
        self,
        detector: Detector,
        healthy: Callable[[], FloatArray],
        stoppable: float,
    ) -> float:
        """Ask the rule."""
        natural = natural_threshold(detector)
        assert natural is not None
        return natural


@dataclass(frozen=True)
class Fixed(Threshold):
    """One number, the same in every world.

    Parameters
    ----------
    at : float
        The threshold.
    """

    name: ClassVar[str] = "fixed"
    at: float = setting(0.0, doc="the threshold, in units of the statistic")

    def value(
        self,
        detector: Detector,
        healthy: Callable[[], FloatArray],
        stoppable: float,
    ) -> float:
        """Give the number."""
        return self.at


@dataclass(frozen=True)
class Matched(Threshold):
    """The threshold that gives a false-positive rate in this world, from runs of their own.

    Parameters
    ----------
    fpr : float
        Rate of false positives per run, in (0, 1).
    among : {"healthy", "all"}
        Of what: healthy RLHF runs, or all jobs that are not hacking (the paper's).
    """

    name: ClassVar[str] = "matched"
    fpr: float = setting(0.015, low=1e-6, high=1 - 1e-6, doc="false positives per run")
    among: str = setting("healthy", choices=("healthy", "all"), doc="whose false positives")

    def value(
        self,
        detector: Detector,
        healthy: Callable[[], FloatArray],
        stoppable: float,
    ) -> float:
        """Take the rate's order statistic; one that no job can exceed asks for no threshold."""
        rate = self.fpr if self.among == "healthy" else self.fpr / stoppable if stoppable else 1
        if rate >= 1:
            raise UserError(
                f"matched: healthy runs are fewer than {self.fpr:g} of all jobs that are not "
                "hacking, so that any threshold will do; take a smaller fpr or among=healthy"
            )
        largest = healthy()
        if np.isposinf(largest).any():  # a rule that cannot tell: no threshold keeps the promise
            return np.inf
        return matched_threshold(largest, rate)


THRESHOLDS = Catalogue("threshold", (Natural, Fixed, Matched))
