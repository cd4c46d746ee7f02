"""Labelled curves as a population: which are positive, and where their peak probably was."""

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evalstop.benchmarks.population import LabelledRuns
from evalstop.benchmarks.unimodal import unimodal_fit
from evalstop.detectors.logs.curve import Curve
from evalstop.detectors.logs.eval_runs import EvalRuns
from evalstop.detectors.observation import FloatArray, IntArray, Runs
from evalstop.detectors.settings import nearest
from evalstop.detectors.words import plural
from evalstop.errors import UserError

AMBIGUOUS = "ambiguous"
MIXED = 100  # ranges of curves that differ by more are of metrics of different units
Labels = Callable[[Curve], str]


@dataclass(frozen=True, eq=False)
class LabelledCurves:
    """Curves with a label, sorted by source, run and metric, and what scoring knows of them.

    Parameters
    ----------
    curves : tuple of Curve
        One per row of `runs` and `population`.
    runs : Runs
        What detectors see.
    population : LabelledRuns
        Kind ``hacking`` for the positive label, ``healthy`` for any other. Without a truth, `true`
        is the best rise-then-fall fit of the scores and `peak` the progress of its maximum. Every
        curve weighs the same.
    groups : int array (n,)
        Curves of one run of one source have one number: they are not independent.
    n_ambiguous : int
        Curves left out because of the label ``ambiguous``.
    notes, warnings : list of str
        What was counted, and what a reader of the scores must know.
    """

    curves: tuple[Curve, ...]
    runs: Runs
    population: LabelledRuns
    groups: IntArray
    n_ambiguous: int
    notes: list[str]
    warnings: list[str]

    def __len__(self) -> int:
        return len(self.curves)


def label_curves(
    evals: EvalRuns,
    labels: Labels,
    *,
    positive: str = "declined",
    select: Mapping[str, str] | None = None,
) -> LabelledCurves:
    """Join curves and labels.

    Parameters
    ----------
    evals : EvalRuns
        The curves.
    labels : callable
        Gives the label of a curve, "" for none: `labels_in_column` or `labels_in_file`.
    positive : str
        Label of the curves that should be stopped; all but this and ``ambiguous`` are negative.
    select : mapping of str to str, optional
        Only curves whose column has this value: ``source``, ``run``, ``metric`` or a text column.

    Raises
    ------
    UserError
        If no curve is left, or there is no positive or no negative one.
    """
    evals = evals.select(select or {})
    chosen = sorted(range(len(evals.curves)), key=lambda i: _identity(evals.curves[i]))
    usable = [i for i in chosen if not np.isnan(evals.curves[i].values).all()]
    told = {i: labels(evals.curves[i]) for i in usable}
    counts = Counter(told.values())
    judged = [i for i in usable if told[i] not in ("", AMBIGUOUS)]
    warnings = []
    if len(usable) < len(chosen):
        warnings.append(f"left out: {plural(len(chosen) - len(usable), 'curve')} without a number")
    if counts[""]:
        warnings.append(f"left out: {plural(counts[''], 'curve')} without a label")
    words = sorted({told[i] for i in judged})
    if positive not in words or len(words) < 2:
        kinds = ", ".join(f"{w} ({counts[w]})" for w in words) or "none"
        raise UserError(
            f"labels: need curves labelled {positive!r} and others to compare, there are: {kinds}; "
            "say which label is the positive one with --positive"
        )
    notes = [
        f"positive: {plural(counts[positive], 'curve')} labelled {positive}; negative: "
        + ", ".join(f"{counts[w]} {w}" for w in words if w != positive)
        + (f"; {counts[AMBIGUOUS]} ambiguous left out" if counts[AMBIGUOUS] else "")
    ]
    if evals.derived_progress:
        notes.append("no progress in the curves: it is taken as step / last step of each run")

    rows = np.array(judged)
    runs, curves = evals.runs.take(rows), tuple(evals.curves[i] for i in judged)
    identities = [_identity(c)[:2] for c in curves]
    number = {identity: i for i, identity in enumerate(dict.fromkeys(identities))}
    warnings += _about_ranges(np.nanmax(runs.score, axis=1) - np.nanmin(runs.score, axis=1))
    kind = np.array(["hacking" if told[i] == positive else "healthy" for i in judged])
    return LabelledCurves(
        curves,
        runs,
        _population(runs, kind),
        np.array([number[identity] for identity in identities]),
        counts[AMBIGUOUS],
        notes,
        warnings,
    )


def _about_ranges(ranges: FloatArray) -> list[str]:
    """Warn of curves on which no rule, or not every rule, has a chance."""
    said = []
    constant = ranges == 0
    if constant.any():
        said.append(f"no rule can tell anything of {plural(constant.sum(), 'constant curve')}")
    low, high = np.quantile(ranges[~constant], [0.1, 0.9]) if not constant.all() else (1.0, 1.0)
    if high > MIXED * low:
        said.append(
            f"the ranges of the curves differ by a factor of {high / low:.0f}: a rule in units of "
            "the score (drawdown) has no threshold that suits all, --select one source or metric"
        )
    return said


def labels_in_column(evals: EvalRuns, column: str) -> Labels:
    """Take the labels from a text column of the curve file."""
    known = {name for curve in evals.curves for name in curve.labels}
    if column not in known:
        raise UserError(f"labels: there is no column or file {column!r}, {nearest(column, known)}")
    return lambda curve: curve.labels.get(column, "").strip()


def labels_in_file(path: Path) -> Labels:
    """Take the labels from a CSV with the columns ``run,label`` or ``run,metric,label``."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as a CSV of labels: {error}") from None
    if not rows or not {"run", "label"} <= set(rows[0]):
        raise UserError(f"{path}: needs the columns run,label or run,metric,label, and a row")
    told: dict[tuple[str, str], str] = {}
    for row in rows:
        key = (row["run"] or "", row.get("metric") or "")
        label = (row["label"] or "").strip()
        if told.setdefault(key, label) != label:
            raise UserError(f"{path}: {' '.join(key).strip()} has two labels, give it one")
    return lambda curve: told.get((curve.run, curve.metric), told.get((curve.run, ""), ""))


def _identity(curve: Curve) -> tuple[str, str, str]:
    return curve.source, curve.run, curve.metric


def _population(runs: Runs, kind: NDArray[np.str_]) -> LabelledRuns:
    """Estimate what a truth would tell."""
    assert runs.progress is not None
    # A progress that is missing or goes back at an eval is that of the eval before.
    progress = np.maximum.accumulate(np.nan_to_num(runs.progress), axis=1)
    true, peak = np.full(runs.score.shape, np.nan), np.full(len(runs), np.nan)
    for row, (score, n) in enumerate(zip(runs.score, runs.n_evals, strict=True)):
        at = np.flatnonzero(~np.isnan(score[:n]))
        fit = unimodal_fit(score[at])
        peak[row] = progress[row, at[fit.peak]]
        true[row, :n] = np.interp(np.arange(n), at, fit.values)
    everyone = np.full(len(runs), True)
    return LabelledRuns(
        kind=kind,
        peak=peak,
        progress=progress,
        observed=runs.score,
        true=true,
        n_evals=runs.n_evals,
        stoppable=everyone,
        gpu_hours=np.ones(len(runs)),
        estimated=True,
    )
