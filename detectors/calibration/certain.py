"""What all exact calibrations have in common."""

from evalstop.detectors.calibration.record import Calibration
from evalstop.detectors.rules import Detector
from evalstop.detectors.settings import name_of, spec_of
from evalstop.errors import UserError


class NoExactTheoryError(UserError):
    """The detector has no exact calibration, as it is set."""


def certain(
    detector: Detector, threshold: float, realised: float, horizon: int, assumptions: str
) -> Calibration:
    """Write down what was calculated."""
    return Calibration(
        detector=spec_of(detector),
        threshold=float(threshold),
        nominal=realised,
        realised=realised,
        interval=(realised, realised),
        horizon=horizon,
        method="exact",
        assumptions=assumptions,
    )


def refuse_boundary(detector: Detector, boundary: bool) -> None:
    """Raise `NoExactTheoryError` if a boundary is asked for."""
    if boundary:
        raise NoExactTheoryError(
            f"{name_of(detector)}: exact thresholds are constant over evals, a boundary is "
            "calibrated on flat noise (flat) or on healthy runs (conformal)"
        )
