"""Which detector at which threshold judges a run, and what is promised of the two."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from evalstop.detectors.calibration import Calibration, Null, best_null, natural_promise
from evalstop.detectors.rules import Detector, Threshold, natural_threshold
from evalstop.detectors.settings import name_of, spec_of
from evalstop.detectors.zoo import DETECTORS
from evalstop.detectors.zoo.mann_kendall import MannKendall
from evalstop.errors import UserError

# Why this one: docs/the-default-rule.md.
DEFAULT: Detector = MannKendall()
BUDGET = 0.05


@dataclass(frozen=True)
class Rule:
    """A detector with its threshold, and what is promised of the two."""

    detector: Detector
    threshold: Threshold
    calibration: Calibration | None = None


# Chooses the rule for a run of so many evals.
RuleFor = Callable[[int], Rule]
# Finds out what a detector does on runs that should not be stopped.
NullOf = Callable[[Detector], Null]


def rule_for_runs(
    detector: Detector | None,
    threshold: Threshold | None,
    fpr: float | None,
    horizon: int | None,
    null_of: NullOf = best_null,
) -> RuleFor:
    """Choose how each run is judged.

    Parameters
    ----------
    detector : Detector, optional
        Default: `DEFAULT`.
    threshold : float, optional
        Given: it is used as it is.
    fpr : float, optional
        False-alarm budget per run; default `BUDGET`, or none where the detector was named and has
        a threshold of its own.
    horizon : int, optional
        Evals per run that the budget covers; default: as many as each run has.
    null_of : callable
        How a budget becomes a threshold; default: exactly, else on flat noise where that needs no
        guess.

    Raises
    ------
    UserError
        If both a threshold and a budget are given, or neither can be had.
    """
    if threshold is not None:
        if fpr is not None:
            raise UserError("--threshold and --fpr: give one of them")
        if detector is None:
            raise UserError("--threshold: name the --detector that it belongs to")
        fixed = Rule(detector, threshold)
        return lambda _n_evals: fixed
    if detector is not None and fpr is None:
        natural = natural_threshold(detector)
        if natural is None:
            raise UserError(
                f"{name_of(detector)}: it has no threshold of its own, "
                "give --threshold, or a false-alarm budget with --fpr; if its statistic is in "
                "units of the score, with --sigma, the noise of one eval"
            )
        return lambda n_evals: Rule(
            detector, natural, natural_promise(detector, n_evals if horizon is None else horizon)
        )

    rule = detector or DEFAULT
    null = null_of(rule)

    @cache
    def budgeted(n_evals: int) -> Rule:
        found = null.calibrate(BUDGET if fpr is None else fpr, n_evals)
        # The budget may choose a setting: k.
        return calibrated(found, rule if spec_of(rule) == found.detector else None)

    return lambda n_evals: budgeted(n_evals if horizon is None else horizon)


def calibrated(calibration: Calibration, detector: Detector | None = None) -> Rule:
    """Give the rule that a calibration is about.

    Parameters
    ----------
    calibration : Calibration
        Its detector is looked up by name; a file named in it is never run.
    detector : Detector, optional
        The detector as the user named it: has to be the same.
    """
    if detector is not None and spec_of(detector) != calibration.detector:
        raise UserError(
            f"calibration: is of {calibration.detector}, not of {spec_of(detector)}; leave "
            "--detector out or calibrate again"
        )
    rule = DETECTORS.build(calibration.detector) if detector is None else detector
    return Rule(rule, np.asarray(calibration.threshold), calibration)
