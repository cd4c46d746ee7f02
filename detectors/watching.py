"""From curves to verdicts: which run should stop, since when, and which checkpoint to keep."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evalstop.detectors.calibration import HealthyNull, Null, rejected
from evalstop.detectors.logs.curve import Curve
from evalstop.detectors.logs.eval_runs import EvalRuns
from evalstop.detectors.monitor import Monitor
from evalstop.detectors.rules import Detector, inputs_of
from evalstop.detectors.scan import check_threshold, threshold_at
from evalstop.detectors.settings import name_of, spec_of
from evalstop.detectors.stop_rules import Rule, RuleFor
from evalstop.detectors.verdict import Verdict
from evalstop.detectors.words import plural
from evalstop.detectors.zoo.e_process import EProcess
from evalstop.errors import UserError

LARGEST = 700.0  # log of an e-value, so that it is a number


@dataclass(frozen=True)
class Evidence:
    """What decides on a run where the share of wrong stops of a whole fleet is bounded.

    Parameters
    ----------
    kind : {"p", "e"}
        A p-value, small = suspicious, or an e-value, large = suspicious.
    value : float
        That of this metric, corrected for how many metrics of the run are judged.
    level : float
        Share of wrong stops that is allowed on average.
    stops : bool
        Whether it is enough.
    promise : str
        What is promised of the fleet, and under which assumptions.
    """

    kind: str
    value: float
    level: float
    stops: bool
    promise: str


@dataclass(frozen=True, eq=False)
class Watched:
    """The verdict on one curve; scores in the units and direction of the log."""

    curve: Curve
    rule: Rule
    verdict: Verdict
    evidence: Evidence | None = None

    @property
    def stop(self) -> bool:
        """Whether the run should stop."""
        return self.verdict.alarm if self.evidence is None else self.evidence.stops

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
        return known is not None and not known.can_fire

    @property
    def word(self) -> str:
        """Say the verdict in words."""
        if self.evidence is not None and self.verdict.missing_since is None:
            return "stop" if self.stop else "go on"
        if self.stop:
            return f"stop, since step {self.verdict.alarm_step:g}"
        if self.verdict.missing_since is None and self.cannot_fire:
            return "go on (too few evals to tell)"
        return self.verdict.word

    @property
    def beyond(self) -> str:
        """Warn if the run is longer than its threshold was set for; empty if not."""
        known, n_seen, detector = self.rule.calibration, self.verdict.n_seen, self.rule.detector
        which = f"{self.curve.run} / {self.curve.metric}: {plural(n_seen, 'eval')}"
        if known is not None and n_seen > known.horizon:
            return (
                f"{which}, the threshold promises something for {known.horizon} only; "
                "give a longer --horizon"
            )
        if isinstance(detector, EProcess) and n_seen > detector.horizon:
            return (
                f"{which}, e-process sees falls that begin within {detector.horizon} only; "
                f"set its horizon={n_seen} or more"
            )
        return ""

    @property
    def promise(self) -> str | None:
        """Say what is promised, if anything."""
        if self.evidence is not None:
            return self.evidence.promise
        return self.rule.calibration.promise if self.rule.calibration else None

    def record(self) -> dict[str, Any]:
        """Give it as a record for JSON."""
        verdict, known, evidence = self.verdict, self.rule.calibration, self.evidence
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
            "method": known and known.method,
            "promise": self.promise,
            **(
                {f"{evidence.kind}_value": evidence.value, "fdr": evidence.level}
                if evidence
                else {}
            ),
        }


def judge(found: EvalRuns, rule_for: RuleFor) -> list[Watched]:
    """Feed each curve to a monitor, eval by eval, and give the verdicts.

    Raises
    ------
    UserError
        If a detector reads a channel that the logs do not have.
    """
    lengths = [len(curve.steps) for curve in found.curves]
    # The longest first: what is simulated for it holds the shorter ones.
    rules = {n: rule_for(n) for n in sorted(set(lengths), reverse=True)}
    return [
        Watched(curve, rules[n], _fed(found, i, rules[n])[-1])
        for i, (curve, n) in enumerate(zip(found.curves, lengths, strict=True))
    ]


class Fleet(NamedTuple):
    """The verdicts on a fleet, and what must be said of them."""

    watched: list[Watched]
    warnings: list[str]


def judge_fleet(found: EvalRuns, detector: Detector, null: Null, level: float) -> Fleet:
    """Decide on all runs together, so that few of the stops are wrong.

    Parameters
    ----------
    found : EvalRuns
        The fleet, as it stands: to be looked at once.
    detector : Detector
        How a run is judged. An e-process of known noise gives e-values, any other p-values.
    null : Null
        What it does on runs that should not be stopped; gives the p-values.
    level : float
        Share of wrong stops that is allowed on average, in (0, 1).
    """
    rule = Rule(detector, np.inf)
    told = [_fed(found, i, rule) for i in range(len(found.curves))]
    lasts = [verdicts[-1] for verdicts in told]
    longest = max(last.n_seen for last in lasts)
    names = [(curve.source, curve.run) for curve in found.curves]
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    warnings = []
    if isinstance(detector, EProcess) and detector.sigma is not None:
        kind, how = "e", f"e-values: independent Gaussian noise of sd {detector.sigma:g}"
        p_values = [float(np.exp(-min(last.statistic, LARGEST))) for last in lasts]
    else:
        kind = "p"
        largest = [max(verdict.statistic for verdict in verdicts) for verdicts in told]
        p_values = [null.p_value(s, v.n_seen) for s, v in zip(largest, lasts, strict=True)]
        if isinstance(null, HealthyNull):
            warnings += _too_few_healthy(null.p_value(np.inf, longest), len(number), level)
        how = f"{null.method} p-values: {null.assumptions(longest)}"
    decided = rejected(np.array(p_values), np.array([number[n] for n in names]), level)
    promise = (
        f"at most {100 * level:.3g}% of the stops among the {plural(len(number), 'run')} judged "
        f"are wrong, on average ({how})"
    )
    fleet = []
    for curve, last, p, stops in zip(found.curves, lasts, *decided, strict=True):
        value = float(p if kind == "p" else 1 / p)
        evidence = Evidence(kind, value, level, bool(stops), promise)
        fleet.append(Watched(curve, rule, last, evidence))
    return Fleet(fleet, warnings)


def _too_few_healthy(least: float, n_runs: int, level: float) -> list[str]:
    """Warn if even the most suspicious run has too large a p-value to be stopped alone."""
    together = int(np.ceil(least * n_runs / level - 1e-9))
    if together < 2:
        return []
    lost = (
        "no run is ever stopped"
        if together > n_runs
        else f"fewer than {together} bad runs among the {n_runs} judged are never stopped"
    )
    return [
        f"healthy: with so few healthy runs as long as these no p-value is below {least:.2g}, so "
        f"that {lost}; add healthy runs or take a larger --fdr"
    ]


def _fed(found: EvalRuns, row: int, rule: Rule) -> list[Verdict]:
    """Feed one curve to a monitor, and give the verdict after every eval."""
    curve, inputs = found.curves[row], inputs_of(rule.detector)
    if "progress" in inputs and found.derived_progress:
        raise UserError(
            f"{name_of(rule.detector)}: it reads the progress, and a run that is still going does "
            "not tell its length; log a progress column"
        )
    channels = found.runs.channels({*inputs, "score", "step"})
    monitor = Monitor(rule.detector, rule.threshold)
    return [  # one at least: it would be no curve otherwise
        monitor.update(curve.run, **{c: float(v[row, i]) for c, v in channels.items()})
        for i in range(len(curve.steps))
    ]
