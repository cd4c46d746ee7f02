"""k-decline and patience by counting permutations: no noise level is needed."""

from dataclasses import replace

import numpy as np

from evalstop.detectors.calibration.certain import certain, refuse_boundary
from evalstop.detectors.calibration.record import Calibration, check_budget
from evalstop.detectors.counting import false_alarm_rate, k_for
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.patience import Patience

COUNTED = "flat curve, independent continuous noise"


class Counted:
    """k-decline or patience on permutations, counted; the statistic has to be the count."""

    method = "exact"

    def __init__(self, detector: KDecline | Patience) -> None:
        self.detector = detector

    def assumptions(self, horizon: int) -> str:
        """Nothing of the size and law of the noise."""
        return COUNTED

    def calibrate(self, fpr: float, horizon: int, *, boundary: bool = False) -> Calibration:
        """Choose the rule's own k."""
        check_budget(fpr, horizon)
        refuse_boundary(self.detector, boundary)
        k, rule = k_for(fpr, horizon, self.detector.name), self.detector
        chosen = replace(rule, k=k) if isinstance(rule, KDecline) else replace(rule, evals=k)
        return replace(counted(chosen, horizon), nominal=fpr)

    def p_value(self, observed: float, n_evals: int) -> float:
        """Count, with the observed number as k."""
        k = int(np.clip(observed, 0, n_evals))  # n evals cannot make n declines
        return false_alarm_rate(k, n_evals, self.detector.name) if k else 1.0


def counted(detector: KDecline | Patience, horizon: int) -> Calibration:
    """Say what the rule's own k promises."""
    k = int(detector.k if isinstance(detector, KDecline) else detector.evals)
    realised = false_alarm_rate(k, horizon, detector.name)
    return certain(detector, detector.natural_threshold, realised, horizon, COUNTED)
