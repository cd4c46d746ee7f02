"""Runs of several logs under one roof: joined where they are the same run, else told apart."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path

from evalstop.detectors.logs.folders import CHECKPOINT
from evalstop.detectors.logs.rules import names
from evalstop.detectors.logs.rules.branches import equal
from evalstop.detectors.logs.series import Run, Series


def pool(runs: Iterable[Run]) -> tuple[list[Run], list[str]]:
    """Join the runs that several logs share; rename those that only share a name.

    Rows of one run may be split over files (a checkpoint each, a part each). Two logs whose values
    contradict at a common step of any run are of two experiments whose runs have the same names.

    Returns
    -------
    runs : list of Run
        Each name once.
    notes : list of str
        What was renamed.
    """
    named: dict[str, list[Run]] = {}
    for run in runs:
        named.setdefault(run.name, []).append(run)
    clashes = {
        frozenset((one.source, other.source))
        for same in named.values()
        for one, other in combinations(same, 2)
        if one.joins == other.joins == "equal" and _contradict(one, other)
    }
    pooled: list[Run] = []
    notes: list[str] = []
    taken = set(named)
    for name, same in named.items():
        apart: list[Run] = []
        for run in same:
            one = next((one for one in apart if _are_one(one, run, clashes)), None)
            if one is None:
                apart.append(replace(run, series=list(run.series)))
            else:
                _join(one, run)
        if len(apart) > 1:
            notes.append(f"{len(apart)} runs are called {name}: told apart by their files")
            labels = _labels(apart, taken)
            taken.update(labels)
            apart = [replace(run, name=label) for run, label in zip(apart, labels, strict=True)]
        pooled += apart
    return pooled, notes


def _are_one(one: Run, other: Run, clashes: set[frozenset[str]]) -> bool:
    if one.joins != other.joins or one.joins == "never":
        return False
    if one.joins == "first":
        return _folder(one) == _folder(other)
    return one.joins == "always" or frozenset((one.source, other.source)) not in clashes


def _contradict(one: Run, other: Run) -> bool:
    """Tell whether two runs have other values at a step of the same series."""
    known = {_key(s): {p.step: p.value for points in s.streams for p in points} for s in one.series}
    return any(
        not equal(known.get(_key(s), {}).get(p.step, p.value), p.value)
        for s in other.series
        for points in s.streams
        for p in points
    )


def _join(one: Run, other: Run) -> None:
    known = {_key(s): i for i, s in enumerate(one.series)}
    for series in other.series:
        at = known.get(_key(series))
        if at is None:
            one.series.append(series)
        elif one.joins != "first":  # else the log of this folder that was read first has it
            old = one.series[at]
            one.series[at] = replace(old, streams=old.streams + series.streams)
    one.told = {**other.told, **one.told}
    one.asides = {**other.asides, **one.asides}
    one.said = list(dict.fromkeys(one.said + other.said))


def _key(series: Series) -> tuple[object, ...]:
    """Tell series apart; TensorBoard's eval/loss is the eval_loss of other logs."""
    return (
        names.key(series.metric) or series.metric,
        series.role,
        tuple(sorted(series.labels.items())),
    )


def _folder(run: Run) -> Path:
    """Give the folder of a run's logs; the event files of TensorBoard are read by their folder."""
    path = Path(run.source)
    folder = path if path.is_dir() else path.parent
    return folder.parent if CHECKPOINT.fullmatch(folder.name) else folder


def _labels(runs: Sequence[Run], taken: set[str]) -> list[str]:
    """Give longer names that tell runs apart, from the paths they were read from."""
    depth = max(len(Path(run.source).parts) for run in runs)
    for length in range(1, depth + 1):
        labels = [_label(run, length) for run in runs]
        if len(set(labels)) == len(runs) and taken.isdisjoint(labels):
            return labels
    free = (f"{runs[0].name} ({i})" for i in count(1))
    return [next(label for label in free if label not in taken) for _ in runs]


def _label(run: Run, length: int) -> str:
    """Give the last parts of a run's path, then its name where they do not end with it."""
    path = Path(run.source)
    parts = [p for p in (*path.parent.parts, path.stem) if p != path.anchor][-length:]
    return "/".join(parts if parts and parts[-1] == run.name else [*parts, run.name])
