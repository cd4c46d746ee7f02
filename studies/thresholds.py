"""Where the threshold of a detector comes from, as a config with a spec like everything else."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol, cast

import numpy as np

from evalstop.benchmarks.matched import matched_threshold
from evalstop.detectors import DETECTORS
from evalstop.detectors.calibration import FlatNoise, Null, best_null
from evalstop.detectors.catalogue import Catalogue
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.rules import Detector, natural_threshold
from evalstop.detectors.settings import (
    build,
    check_settings,
    setting,
    settings_of,
    spec_of,
    write,
)
from evalstop.detectors.zoo.never import Never
from evalstop.errors import UserError
from evalstop.simulator.stoppers import Oracle


class Calibration(Protocol):
    """Healthy runs of the same world, drawn apart from those that are scored."""

    @property
    def stoppable(self) -> float:
        """Share of healthy RLHF runs among all jobs that are not hacking."""

    @property
    def horizon(self) -> int:
        """Evals of the longest run."""

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
        """Only some rules have one; the oracle needs none."""
        return natural_threshold(detector) is not None or isinstance(detector, Oracle)

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


@dataclass(frozen=True)
class Calibrated(Threshold):
    """The threshold of `evalstop calibrate` for the length of the runs: exact, else on flat noise.

    No run of this world has a say in it, so that it may be wrong there.

    Parameters
    ----------
    fpr : float
        False stops per run, in (0, 1).
    sigma : float, optional
        Noise of one eval, in units of the score, for rules that need it.
    estimated : bool
        Whether the threshold is that of the rule with `sigma` known, though the rule estimates it.
    """

    name: ClassVar[str] = "calibrated"
    fpr: float = setting(0.05, low=1e-6, high=1 - 1e-6, doc="false stops per run")
    sigma: float | None = setting(None, low=1e-200, unit="score", doc="noise of one eval")
    estimated: bool = setting(False, doc="take the threshold for a known sigma")
    runs: int = setting(20_000, low=1000, doc="flat runs that are simulated")

    def fits(self, detector: Detector) -> bool:
        """Only some rules estimate the noise."""
        estimates = getattr(detector, "sigma", self.sigma) is None
        return super().fits(detector) and (estimates or not self.estimated)

    def value(self, detector: Detector, calibration: Calibration) -> float:
        """Calibrate, once for all runs of one length."""
        if self.estimated:
            texts = {field: write(value) for field, value in settings_of(detector).items()}
            detector = build(type(detector), texts | {"sigma": write(self.sigma)})
        noise = FlatNoise(sigma=self.sigma, runs=self.runs)
        return _calibrated(cast("Hashable", detector), noise, self.fpr, calibration.horizon)


# A detector is a frozen config, hence hashable, though its type does not say so.
@lru_cache(maxsize=4096)
def _calibrated(detector: Hashable, noise: FlatNoise, fpr: float, horizon: int) -> float:
    threshold = _null(detector, noise, horizon).calibrate(fpr, horizon).threshold
    assert isinstance(threshold, float | int)
    return threshold


@lru_cache(maxsize=1)  # contenders come one after the other, and what is kept is large
def _null(detector: Hashable, noise: FlatNoise, horizon: int) -> Null:
    return best_null(cast("Detector", detector), noise)


THRESHOLDS: Catalogue[Threshold] = Catalogue(
    "threshold", (Natural, Fixed, Matched, Like, Calibrated)
)
