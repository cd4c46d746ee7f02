"""A step that goes back is a restart: the new branch replaces the abandoned one from there on.

Series are watched one by one, since evals may be logged late (a train row of step 110, then the
eval of step 100) without any restart. But once one series goes back, all of them are cut there, so
that an eval of the abandoned branch is never taken for a repeat of the new one.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from evalstop.detectors.logs.rules.names import is_bookkeeping, is_eval
from evalstop.detectors.logs.rules.roles import Name


class Point(NamedTuple):
    """One value of a series; `stderr` is NaN where the log tells none."""

    step: float
    value: float
    stderr: float


class Moment(NamedTuple):
    """A row whose step is known."""

    step: float
    values: Mapping[Name, float]
    restart: str = ""
    closing: bool = False


@dataclass
class Branch:
    """The series of one stream of rows, as they stand after all restarts.

    `series` holds the points of each name in rising order of steps; `backward` the steps
    (from, to) of each going back; `reloaded` the (step, earlier step) of each eval that was only
    the best checkpoint loaded again.
    """

    series: dict[Name, list[Point]] = field(default_factory=dict)
    backward: list[tuple[float, float]] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    reloaded: list[tuple[float, float]] = field(default_factory=list)


def follow(moments: Iterable[Moment], *, ordered: bool = True) -> Branch:
    """Go through rows in the order they were logged; with `ordered` off no step goes back."""
    branch, closed = Branch(), False
    series = branch.series
    for step, values, restart, closing in moments:
        if ordered:
            last = -math.inf
            for name in values:
                points = series.get(name)
                if points and points[-1].step > last:
                    last = points[-1].step
            if restart:
                branch.restarts.append(restart)
            elif step < last:
                branch.backward.append((last, step))
            if restart or step < last:
                _cut(series, step)
                closed = False
            if closed:
                earlier = _reloaded_from(series, step, values)
                if earlier is not None:
                    branch.reloaded.append((step, earlier))
                    continue
                closed = not values or any(is_eval(name.metric) for name in values)
            closed = closed or closing
        for name, value in values.items():
            told = values.get(_stderr(name), math.nan)
            series.setdefault(name, []).append(Point(step, value, told))
    return branch


@lru_cache(maxsize=4096)
def _stderr(name: Name) -> Name:
    return Name(f"{name.metric}_stderr", name.split)


def _cut(series: dict[Name, list[Point]], step: float) -> None:
    for points in series.values():
        while points and points[-1].step >= step:
            points.pop()


def _reloaded_from(
    series: dict[Name, list[Point]], step: float, values: Mapping[Name, float]
) -> float | None:
    """Give the earlier step whose evals all equal these, None if they are news or a plain repeat.

    After its summary a trainer may load the best checkpoint and evaluate it under the last step.
    """
    same: set[float] | None = None
    for name, value in values.items():
        if is_eval(name.metric) and not is_bookkeeping(name.metric):
            at = {p.step for p in series.get(name, ()) if equal(p.value, value)}
            same = at if same is None else same & at
    if not same or step in same:
        return None
    return max(same)


def equal(a: float, b: float) -> bool:
    """Tell whether two values are the same; nan is the same as nan."""
    return a == b or (math.isnan(a) and math.isnan(b))
