"""From curves to verdicts: which run should stop, since when, and which checkpoint to keep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalstop.detectors.calibration import Calibration, exact, natural_promise
from evalstop.detectors.logs.curve import Curve
from evalstop.detectors.logs.eval_runs import EvalRuns
from evalstop.detectors.monitor import Monitor, Verdict
from evalstop.detectors.rules import Detector, Threshold, inputs_of, natural_threshold
from evalstop.detectors.scan import check_threshold, threshold_at
from evalstop.detectors.settings import name_of, spec_of
from evalstop.detectors.zoo import DETECTORS
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.patience import Patience
from evalstop.errors import UserError


@dataclass(frozen=True)
class Rule:
    """A detector with its threshold, and what is promised of the two."""

    detector: Detector
    threshold: Threshold
    calibration: Calibration | None = None


# Chooses the rule for a run of so many evals.
RuleFor = Callable[[int], Rule]


@dataclass(frozen=True, eq=False)
class Watched:
    """The verdict on one curve; scores in the units and direction of the log."""

    curve: Curve
    rule: Rule
    verdict: Verdict

    @property
    def stop(self) -> bool:
        """Whether the run should stop."""
        return self.verdict.alarm

    @property
    def best_score(self) -> float | None:
        """Give the best score so far as the log has it."""
        score = self.verdict.best_score
        return -score if score is not None and not self.curve.higher_is_better else score

    @property
    def threshold(self) -> float:
        """Give the threshold that holds after the evals seen."""
        boundary = check_threshold(self.rule.threshold)
        return float(threshold_at(boundary, np.asarray(self.verdict.n_seen)))

    @property
    def cannot_fire(self) -> bool:
        """Whether the budget leaves no room for an alarm within the horizon."""
        known = self.rule.calibration
        return known is not None and known.method == "exact" and known.realised == 0

    @property
    def word(self) -> str:
        """Say the verdict in words."""
        if self.stop:
            return f"stop, since step {self.verdict.alarm_step:g}"
        if self.verdict.missing_since is None and self.cannot_fire:
            return "go on (too few evals to tell)"
        return self.verdict.word

    @property
    def beyond(self) -> str:
        """Warn if the run is longer than its threshold was set for; empty if not."""
        known, n_seen = self.rule.calibration, self.verdict.n_seen
        if known is None or n_seen <= known.horizon:
            return ""
        return (
            f"{self.curve.run} / {self.curve.metric}: {n_seen} evals, the threshold promises "
            f"something for {known.horizon} only; give a longer --horizon"
        )

    def record(self) -> dict[str, Any]:
        """Give it as a record for JSON."""
        verdict, known = self.verdict, self.rule.calibration
        return {
            "run": self.curve.run,
            "metric": self.curve.metric,
            "source": self.curve.source,
            "stop": self.stop,
            "verdict": self.word,
            "alarm_step": verdict.alarm_step,
            "best_step": verdict.best_step,
            "best_score": self.best_score,
            "statistic": verdict.statistic,
            "threshold": self.threshold,
            "detector": spec_of(self.rule.detector),
            "n_evals": verdict.n_seen + verdict.n_missing,
            "n_missing": verdict.n_missing,
            "missing_since": verdict.missing_since,
            "horizon": known and known.horizon,
            "fpr_nominal": known and known.nominal,
            "fpr_realised": known and known.realised,
            "promise": known.promise if known else None,
        }


def judge(found: EvalRuns, rule_for: RuleFor) -> list[Watched]:
    """Feed each curve to a monitor, eval by eval, and give the verdicts.

    Raises
    ------
    UserError
        If a detector reads a channel that the logs do not have.
    """
    return [_judge(found, i, rule_for(len(curve.steps))) for i, curve in enumerate(found.curves)]


def _judge(found: EvalRuns, row: int, rule: Rule) -> Watched:
    curve, inputs = found.curves[row], inputs_of(rule.detector)
    if "progress" in inputs and found.derived_progress:
        raise UserError(
            f"{name_of(rule.detector)}: it reads the progress, and a run that is still going does "
            "not tell its length; log a progress column"
        )
    channels = found.runs.channels({*inputs, "score", "step"})
    monitor = Monitor(rule.detector, rule.threshold)
    for i in range(len(curve.steps)):  # at least one: it would be no curve otherwise
        verdict = monitor.update(curve.run, **{c: float(v[row, i]) for c, v in channels.items()})
    return Watched(curve, rule, verdict)


def rule_for_runs(
    detector: Detector | None,
    threshold: Threshold | None,
    fpr: float | None,
    horizon: int | None,
) -> RuleFor:
    """Choose how each run is judged.

    Parameters
    ----------
    detector : Detector, optional
        Default: k-decline with the k that the budget allows.
    threshold : float, optional
        Given: it is used as it is.
    fpr : float, optional
        False-alarm budget per run; default 5 %, or none where the detector was named and has a
        threshold of its own.
    horizon : int, optional
        Evals per run that the budget covers; default: as many as each run has.

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
                "give --threshold, or a false-alarm budget with --fpr and --horizon"
            )
        if isinstance(detector, KDecline | Patience):
            return lambda n_evals: Rule(
                detector,
                natural,
                natural_promise(detector, n_evals if horizon is None else horizon),
            )
        return lambda _n_evals: Rule(detector, natural)

    def budgeted(n_evals: int) -> Rule:
        found = exact(
            detector or KDecline(),
            0.05 if fpr is None else fpr,
            n_evals if horizon is None else horizon,
        )
        return calibrated(found)

    return budgeted


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
