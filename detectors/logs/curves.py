"""From series to curves, with the sentences that a user must or may hear about them."""

import math
from collections.abc import Iterable, Mapping

from evalstop.detectors.logs.curve import Curve, Reading
from evalstop.detectors.logs.rules.directions import direction
from evalstop.detectors.logs.rules.repeats import Merged, merge
from evalstop.detectors.logs.rules.sentences import some, steps_text
from evalstop.detectors.logs.series import Run, Series
from evalstop.detectors.observation import LARGEST
from evalstop.detectors.words import plural


def make_curves(runs: Iterable[Run], asked: Mapping[str, bool], reading: Reading) -> None:
    """Add the curves of runs to `reading`, with warnings and notes."""
    decided: dict[tuple[bool | None, str], dict[str, None]] = {}
    for run in runs:
        evals: list[tuple[Series, Merged]] = []
        for series in run.series:
            merged = merge(series.streams, distinct=series.distinct)
            higher: bool | None = series.told
            if series.role == "eval":
                evals.append((series, merged))
                told = {series.metric: (series.told, "the file")} if series.told is not None else {}
                higher, who = direction(series.metric, asked, {**run.told, **told})
                decided.setdefault((higher, who), {})[series.metric] = None
                reading.warnings += _about_values(run, series, merged)
            else:
                reading.notes += _asides(run, series)
            reading.curves.append(_curve(run, series, merged, higher))
        reading.warnings += [f"{run.name}: {told}" for told in run.said]
        reading.warnings += _about_repeats(run, evals)
        doubled = sorted({step for _, m in evals for step in m.doubled if step not in m.averaged})
        if doubled:
            reading.notes.append(
                f"{run.name}: {steps_text(doubled)} repeated with equal values: counted once"
            )
    reading.notes += _about_directions(decided)


def _curve(run: Run, series: Series, merged: Merged, higher: bool | None) -> Curve:
    return Curve(
        run.name,
        series.metric,
        series.role,
        higher,
        merged.steps,
        merged.values,
        merged.nonfinite,
        merged.stderr,
        merged.n,
        series.labels.get("source") or series.source or run.source,
        series.labels,
    )


def _about_values(run: Run, series: Series, merged: Merged) -> list[str]:
    name = f"{run.name}/{series.metric}"
    said = _asides(run, series)
    at_steps: dict[str, list[float]] = {}
    for step, told in merged.nonfinite:
        what = f"beyond {LARGEST:g}" if math.isfinite(float(told)) else told
        at_steps.setdefault(what, []).append(step)
    said += [
        f"{name} is {what} at {steps_text(steps)}: kept as missing"
        for what, steps in at_steps.items()
    ]
    if merged.partly:
        at = steps_text(merged.partly)
        said.append(
            f"{name} is nan, inf or too large in some of the rows at {at}: the others are averaged"
        )
    if len(merged.steps) == 1:
        said.append(f"{name} has one point: no curve to stop on")
    return said


def _asides(run: Run, series: Series) -> list[str]:
    return [f"{run.name}/{series.metric}: {told}" for told in run.asides.get(series.metric, ())]


def _about_repeats(run: Run, evals: Iterable[tuple[Series, Merged]]) -> list[str]:
    averaged: dict[str, dict[float, int]] = {}
    for series, merged in evals:
        if not series.known:
            averaged.setdefault(series.by, {}).update(merged.averaged)
    said = []
    for by, counts in averaged.items():
        if not counts:
            continue
        rows = sorted(set(counts.values()))
        many = str(rows[0]) if len(rows) == 1 else f"{rows[0]} to {rows[-1]}"
        if by:
            said.append(
                f"{run.name}: {many} rows ({by}) a step: averaged {plural(len(counts), 'step')}"
            )
        else:
            each = " each" if len(counts) > 1 else ""
            at = steps_text(sorted(counts))
            said.append(f"{run.name}: duplicate {at}: averaged {many} rows{each}")
    return said


def _about_directions(decided: Mapping[tuple[bool | None, str], Iterable[str]]) -> list[str]:
    said = []
    for (higher, who), metrics in decided.items():
        listed = some(list(metrics), 10)
        if higher is None:
            first = next(iter(metrics))
            said.append(f"direction unknown: {listed}; say --direction {first}=higher or =lower")
        else:
            way = "higher" if higher else "lower"
            said.append(f"{way} is better ({who}): {listed}")
    return said
