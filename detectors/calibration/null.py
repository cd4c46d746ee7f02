"""What a detector does on runs that should not be stopped, however that is known."""

from typing import Protocol

from evalstop.detectors.calibration.record import Calibration


class Null(Protocol):
    """What a detector does on runs that should not be stopped.

    Parameters
    ----------
    method : {"exact", "flat", "conformal"}
        How that is known.
    """

    method: str

    def assumptions(self, horizon: int) -> str:
        """Say what has to hold."""

    def calibrate(self, fpr: float, horizon: int, *, boundary: bool = False) -> Calibration:
        """Find the threshold with P(alarm within `horizon` evals) <= `fpr`."""

    def p_value(self, observed: float, n_evals: int) -> float:
        """Give P(largest statistic within `n_evals` >= observed)."""
