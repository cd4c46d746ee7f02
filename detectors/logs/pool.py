"""Runs of several logs under one roof: joined where they are the same run, else told apart."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from evalstop.detectors.logs.assemble import Run, Series
from evalstop.detectors.logs.rules.branches import equal


def pool(runs: Iterable[Run]) -> tuple[list[Run], list[str]]:
    """Join the runs that several logs share; rename those that only share a name.

    Rows of one run may be split over files (a checkpoint each, a part each). Two logs whose values
    contradict at a common step are two runs that happen to have one name.

    Returns
    -------
    runs : list of Run
        Each name once.
    notes : list of str
        What was renamed.
    """
    named: dict[str, list[Run]] = {}
    for run in runs:
        same = named.setdefault(run.name, [])
        for other in same:
            if _are_one(other, run):
                _join(other, run)
                break
        else:
            same.append(replace(run, series=list(run.series)))
    pooled: list[Run] = []
    notes = []
    taken = set(named)
    for name, same in named.items():
        if len(same) == 1:
            pooled += same
            continue
        notes.append(f"{len(same)} runs are called {name}: told apart by their files")
        for run in same:
            label = next(label for label in _labels(run) if label not in taken)
            taken.add(label)
            pooled.append(replace(run, name=label))
    return pooled, notes


def _are_one(one: Run, other: Run) -> bool:
    if "never" in (one.joins, other.joins):
        return False
    if one.joins == other.joins == "always":
        return True
    known = {_key(s): {p.step: p.value for points in s.streams for p in points} for s in one.series}
    return all(
        equal(known.get(_key(s), {}).get(p.step, p.value), p.value)
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
        else:
            old = one.series[at]
            one.series[at] = replace(old, streams=old.streams + series.streams)
    one.told = {**one.told, **other.told}
    one.asides = {**other.asides, **one.asides}
    one.said = one.said + other.said


def _key(series: Series) -> tuple[object, ...]:
    return series.metric, series.role, tuple(sorted(series.labels.items()))


def _labels(run: Run) -> Iterable[str]:
    """Give longer and longer names of a run, from the path it was read from."""
    path = Path(run.source)
    own = [] if run.name in {path.stem, path.parent.name} else [path.stem]
    parents = [p for p in path.parent.parts if p not in ("", ".", "/")]
    tail = [run.name] if path.parent.name != run.name else []
    for depth in range(1 if not own else 0, len(parents) + 1):
        yield "/".join([*parents[len(parents) - depth :], *own, *tail])
    count = 2
    while True:
        yield f"{run.name} ({count})"
        count += 1
