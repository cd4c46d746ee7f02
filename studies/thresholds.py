"""Where the threshold of a detector comes from, as a config with a spec like everything else."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

import numpy as np

from evalstop.benchmarks.matched import matched_threshold
from evalstop.detectors import DETECTORS
from evalstop.detectors.catalogue import Catalogue
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.rules import Detector, natural_threshold
from evalstop.detectors.settings import check_settings, setting, spec_of
from evalstop.detectors.zoo.never import Never
from evalstop.errors import UserError


class Calibration(Protocol):
    """Healthy runs of the same world, drawn apart from those that are scored."""

    @property
    def stoppable(self) -> float:
        """Share of healthy RLHF runs among all jobs that are not hacking."""

    def largest(self, detector: Detector, *, last: bool) -> FloatArray:
        """Give the largest statistic of each run, with or without its last eval."""


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
        """Tell whether a detector has such a threshold; one that says nothing has only its own."""
        return not isinstance(detector, Never)

    @abstractmethod
    def value(self, detector: Detector, calibration: Calibration) -> float:
        """Give the threshold."""


@dataclass(frozen=True)
class Natural(Threshold):
    """The threshold that is part of the rule's own definition (k-decline's k)."""

    name: ClassVar[str] = "natural"

    def fits(self, detector: Detector) -> bool:
        """Only some rules have one."""
        return natural_threshold(detector) is not None

    def value(self, detector: Detector, calibration: Calibration) -> float:
        """Ask the rule."""
        return cast("float", natural_threshold(detector))


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

    def value(self, detector: Detector, calibration: Calibration) -> float:
        """Give the number."""
        return self.at


@dataclass(frozen=True)
class Matched(Threshold):
    """The threshold that gives a rate of false positives in this world, from runs of their own.

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

    def value(self, detector: Detector, calibration: Calibration) -> float:
        """Take the order statistic of the rate; one that no threshold can exceed asks for none."""
        share = 1.0 if self.among == "healthy" else calibration.stoppable
        if share <= self.fpr:
            raise UserError(
                f"matched: healthy runs are fewer than {self.fpr:g} of all jobs that are not "
                "hacking, so that any threshold will do; take a smaller fpr or among=healthy"
            )
        return matched_threshold(calibration.largest(detector, last=self.last), self.fpr / share)


@dataclass(frozen=True)
class Like(Threshold):
    """The threshold that stops as many healthy runs of this world as another rule does by nature.

    So two rules are compared at the same price, whatever the other's price is in this world.

    Parameters
    ----------
    rule : str
        Spec of the other rule; it needs a natural threshold.
    """

    name: ClassVar[str] = "like"
    rule: str = setting("k-decline", doc="the rule whose false alarms set the rate")

    def __post_init__(self) -> None:
        if natural_threshold(self.other) is None:
            raise UserError(f"like: {self.rule} has no natural threshold, take another rule")

    @property
    def other(self) -> Detector:
        """The other rule."""
        return DETECTORS.build(self.rule)

    def fits(self, detector: Detector) -> bool:
        """Nothing is matched to itself."""
        return super().fits(detector) and spec_of(detector) != spec_of(self.other)

    def value(self, detector: Detector, calibration: Calibration) -> float:
        """Count the other's false alarms, and match their rate; none means fewer than one."""
        limit = Natural().value(self.other, calibration)
        rate = np.mean(calibration.largest(self.other, last=self.last) >= limit)
        largest = calibration.largest(detector, last=self.last)
        fewest = 1 / (len(largest) + 1)
        return matched_threshold(largest, float(np.clip(rate, fewest, 1 - fewest)))


THRESHOLDS: Catalogue[Threshold] = Catalogue("threshold", (Natural, Fixed, Matched, Like))
