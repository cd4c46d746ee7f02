"""Stop rules side by side on labelled curves: at their own thresholds, and at one false-alarm rate.

A rule at its natural threshold shows what its users get. Two rules compare fairly only where they
stop equally many runs that should go on: there each threshold comes from the negatives of all other
runs (`held_out_thresholds`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from evalstop.benchmarks.intervals import resample, share_interval
from evalstop.benchmarks.labelled import LabelledCurves
from evalstop.benchmarks.matched import (
    held_out_thresholds,
    largest_statistics,
    matched_threshold,
    runs_needed,
)
from evalstop.benchmarks.roc import Amoc, Roc, amoc, area, roc
from evalstop.benchmarks.scores import Scores, score
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.rules import Detector, inputs_of, natural_threshold
from evalstop.detectors.scan import first_true, scan
from evalstop.detectors.settings import name_of, parse_spec, settings_of, spec_of, write
from evalstop.detectors.zoo.always import Always
from evalstop.detectors.zoo.never import Never
from evalstop.errors import UserError

PAUC_LIMIT = 0.05
N_RESAMPLES = 2000


class Row(NamedTuple):
    """One line of ``leaderboard.csv``; NaN where a score has nothing to be counted on.

    Parameters
    ----------
    detector, settings : str
        Name, and all settings.
    rule : {"natural", "matched"}
        Which threshold.
    threshold : float
        The natural one, or the one that all negatives together give at the matched rate (each curve
        was judged by the one that the other runs give).
    tp, fp, fn, tn, ambiguous : int
        Counts of curves; `ambiguous` were left out.
    precision, recall, fpr : share
        With the ends of a 95 % interval.
    delay_median_est : evals
        Median delay of the detected, from the estimated peak.
    premature_est, saved_est, regret_est : share
        See `evalstop.benchmarks.scores.Scores`, from the estimated peak and true score.
    pauc_05 : share
        Mean recall over false-positive rates from 0 to 5 %; the same for all thresholds.
    """

    detector: str
    settings: str
    rule: str
    threshold: float
    tp: int
    fp: int
    fn: int
    tn: int
    ambiguous: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float
    fpr: float
    fpr_low: float
    fpr_high: float
    delay_median_est: float
    premature_est: float
    saved_est: float
    regret_est: float
    pauc_05: float


@dataclass(frozen=True, eq=False)
class Operated:
    """A detector at one threshold: its line of the table, and the alarm of each curve (-1 none)."""

    spec: str
    row: Row
    alarms: IntArray
    scores: Scores


@dataclass(frozen=True, eq=False)
class Entry:
    """What one detector gives.

    Parameters
    ----------
    spec : str
        The detector as the command line writes it.
    roc, amoc : Roc, Amoc
        Over all its thresholds.
    natural, matched : Operated or None
        At its own threshold if it has one; at the matched rate if the negatives support it.
    same_as : str or None
        Spec of an earlier detector with equal statistics on all curves (k-decline with another k):
        it has the same curves and matched row.
    """

    spec: str
    roc: Roc
    amoc: Amoc
    natural: Operated | None
    matched: Operated | None
    same_as: str | None

    @property
    def operated(self) -> list[Operated]:
        """What there is of natural and matched."""
        return [o for o in (self.natural, self.matched) if o is not None]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Detectors on labelled curves.

    Parameters
    ----------
    labelled : LabelledCurves
        The curves.
    entries : list of Entry
        The detectors in the order asked for, then ``never`` and ``always``.
    fpr : float
        The matched false-positive rate, over all negative curves.
    seed : int
        Of the bootstrap.
    notes, warnings : list of str
        What the user should be told.
    """

    labelled: LabelledCurves
    entries: list[Entry]
    fpr: float
    seed: int
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """The lines of the leaderboard."""
        return [o.row for e in self.entries for o in e.operated]


def compare(
    labelled: LabelledCurves,
    detectors: Sequence[Detector],
    *,
    fpr: float = 0.015,
    seed: int = 0,
    track: Callable[[list[Detector]], Iterable[Detector]] = list,
) -> Comparison:
    """Judge labelled curves by detectors; ``never`` and ``always`` are added where missing.

    Parameters
    ----------
    labelled : LabelledCurves
        The curves.
    detectors : sequence of Detector
        One whose channels the curves lack is left out with a warning.
    fpr : float
        Rate of false positives for the matched rows; these are left out with a warning when there
        are too few negatives for it.
    seed : int
        Of the bootstrap, the only use of random numbers.
    track : callable
        Wraps the list of detectors, to show how far the work is.

    Raises
    ------
    UserError
        If the curves lack the channels of every detector asked for.
    """
    runs_needed(fpr)  # refuses what is no rate
    if seed < 0:
        raise UserError(f"seed: must be at least 0, got {seed}")
    readable, warnings = _readable(labelled, detectors)
    try:
        _held_out(labelled, np.zeros(len(labelled)), fpr)
        enough = True
    except UserError as error:
        enough = False
        warnings.append(f"{error}; matched rows are left out")
    draws = resample(int(labelled.groups.max()) + 1, N_RESAMPLES, seed)
    notes, entries = list(labelled.notes), list[Entry]()
    first_with: dict[bytes, str] = {}
    names = distinct_names(readable)
    for detector, spec in zip(track(readable), names, strict=True):
        scanned = _scan(labelled, spec, detector)
        natural, matched = natural_threshold(detector), None
        if scanned.roc.degenerate:
            if not isinstance(detector, Never):
                notes.append(f"{spec}: degenerate, it says the same of every curve: no ROC")
        elif enough:
            try:
                matched = _matched(labelled, scanned, draws, fpr)
            except UserError as error:
                warnings.append(f"{spec}: {error}; its matched row is left out")
        earlier = first_with.setdefault(scanned.statistics.tobytes(), spec)
        entries.append(
            Entry(
                spec=spec,
                roc=scanned.roc,
                amoc=amoc(scanned.statistics, labelled.population),
                natural=None if natural is None else _operate(labelled, scanned, draws, natural),
                matched=matched,
                same_as=None if earlier == spec else earlier,
            )
        )
    warnings = [*labelled.warnings, *warnings]
    return Comparison(labelled, entries, fpr, seed, notes, warnings)


class _Scanned(NamedTuple):
    """A detector with its statistics, their largest of each curve, and the ROC of these."""

    spec: str
    detector: Detector
    statistics: FloatArray
    largest: FloatArray
    roc: Roc


def _scan(labelled: LabelledCurves, spec: str, detector: Detector) -> _Scanned:
    statistics = scan(detector, labelled.runs)
    largest = largest_statistics(statistics, labelled.population.n_evals)
    return _Scanned(spec, detector, statistics, largest, roc(largest, labelled.population.hacking))


def _readable(
    labelled: LabelledCurves, detectors: Sequence[Detector]
) -> tuple[list[Detector], list[str]]:
    """Give the detectors whose channels are there, each once, and the two references."""
    readable: list[Detector] = []
    warnings: list[str] = []
    for detector in detectors:
        lacks = " and ".join(c for c in inputs_of(detector) if getattr(labelled.runs, c) is None)
        if lacks:
            warnings.append(f"{spec_of(detector)}: left out, it reads {lacks}: not in the curves")
        elif detector not in (*readable, Never(), Always()):
            readable.append(detector)
    if warnings and not readable:
        raise UserError(f"{warnings[0]}; add it to them or name another detector")
    return [*readable, Never(), Always()], warnings


def distinct_names(detectors: Sequence[Detector]) -> list[str]:
    """Name detectors as the command line does, with every field that one of the same name changes.

    >>> from evalstop.detectors.zoo.k_decline import KDecline
    >>> distinct_names([KDecline(), KDecline(k=3), Never()])
    ['k-decline:k=2', 'k-decline:k=3', 'never']
    """
    changed: dict[str, set[str]] = {}
    for detector in detectors:
        _, settings = parse_spec(spec_of(detector))
        changed.setdefault(name_of(detector), set()).update(settings)
    names = []
    for detector in detectors:
        told = {k: v for k, v in settings_of(detector).items() if k in changed[name_of(detector)]}
        settings_text = ",".join(f"{k}={write(v)}" for k, v in told.items())
        names.append(name_of(detector) + (f":{settings_text}" if told else ""))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"{twice}: two detectors have this name, rename one")
    return names


def _held_out(labelled: LabelledCurves, largest: FloatArray, fpr: float) -> FloatArray:
    return held_out_thresholds(largest, ~labelled.population.hacking, labelled.groups, fpr)


def _matched(
    labelled: LabelledCurves, scanned: _Scanned, draws: FloatArray, fpr: float
) -> Operated:
    """Stop each curve at the threshold that the other runs give."""
    threshold = matched_threshold(scanned.largest[~labelled.population.hacking], fpr)
    held_out = _held_out(labelled, scanned.largest, fpr)
    return _operate(labelled, scanned, draws, threshold, held_out)


def _operate(
    labelled: LabelledCurves,
    scanned: _Scanned,
    draws: FloatArray,
    threshold: float,
    held_out: FloatArray | None = None,
) -> Operated:
    """Stop the curves, at one threshold or each at its own, and make a line of the table."""
    population, groups = labelled.population, labelled.groups
    thresholds = np.full(len(labelled), threshold) if held_out is None else held_out
    alarms = first_true(scanned.statistics >= thresholds[:, None])
    scores = score(population, alarms)
    alarmed, hacking = alarms >= 0, population.hacking
    precision = share_interval(hacking, alarmed, groups, draws)
    recall = share_interval(alarmed, hacking, groups, draws)
    fpr = share_interval(alarmed, ~hacking, groups, draws)
    row = Row(
        detector=name_of(scanned.detector),
        settings=",".join(f"{k}={write(v)}" for k, v in settings_of(scanned.detector).items()),
        rule="natural" if held_out is None else "matched",
        threshold=float(threshold),
        tp=int(scores.tp),
        fp=int(scores.fp_all),
        fn=int(scores.fn),
        tn=int(scores.tn_all),
        ambiguous=labelled.n_ambiguous,
        precision=scores.precision,
        precision_low=precision[0],
        precision_high=precision[1],
        recall=scores.recall,
        recall_low=recall[0],
        recall_high=recall[1],
        fpr=scores.fpr_all,
        fpr_low=fpr[0],
        fpr_high=fpr[1],
        delay_median_est=scores.delay_median,
        premature_est=scores.premature,
        saved_est=scores.saved,
        regret_est=scores.regret,
        pauc_05=area(scanned.roc, PAUC_LIMIT),
    )
    return Operated(scanned.spec, row, alarms, scores)
