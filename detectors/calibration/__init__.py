"""Thresholds that keep a promise: P(false stop within so many evals) <= fpr.

Three methods give a `Calibration`: `exact` calculates it, `flat` simulates runs that have
converged, and `HealthyNull` takes it from runs of the user's own. What each knows of a detector is
a `Null`: it calibrates thresholds, and gives the p-values that decide over a fleet (`rejected`).
"""

from evalstop.detectors.calibration.certain import NoExactTheoryError
from evalstop.detectors.calibration.conformal import HealthyNull
from evalstop.detectors.calibration.exact import exact, exact_null, natural_promise
from evalstop.detectors.calibration.flat import FlatNull, Track, flat
from evalstop.detectors.calibration.flat_noise import DEFAULT, FlatNoise
from evalstop.detectors.calibration.fleet import rejected
from evalstop.detectors.calibration.null import Null
from evalstop.detectors.calibration.record import Calibration, load, save
from evalstop.detectors.rules import Detector

__all__ = [
    "Calibration",
    "FlatNoise",
    "FlatNull",
    "HealthyNull",
    "NoExactTheoryError",
    "Null",
    "Track",
    "best_null",
    "exact",
    "exact_null",
    "flat",
    "load",
    "natural_promise",
    "rejected",
    "save",
]


def best_null(detector: Detector, noise: FlatNoise = DEFAULT, track: Track = iter) -> Null:
    """Give what is known of a detector without runs of one's own: exactly, else on flat noise."""
    try:
        return exact_null(detector, seed=noise.seed)
    except NoExactTheoryError:
        return FlatNull(detector, noise, track)
