"""Several values at one step: equal ones are one eval, others are averaged.

>>> merged = merge([[Point(1, 0.5, math.nan), Point(1, 0.5, math.nan), Point(2, 0.4, math.nan)],
...                 [Point(2, 0.6, math.nan)]])
>>> merged.values.tolist(), merged.n.tolist()
([0.5, 0.5], [1, 2])
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.logs.rules.branches import Point, equal
from evalstop.detectors.observation import LARGEST


@dataclass
class Merged:
    """A series with one value a step.

    `averaged` maps a step to the number of rows that were averaged there, `doubled` lists steps
    whose equal rows are one eval, `partly` maps a step to the number of its rows that had no
    usable value (nan, infinite, beyond 1e100).
    """

    steps: NDArray[np.float64]
    values: NDArray[np.float64]
    nonfinite: tuple[tuple[float, str], ...]
    stderr: NDArray[np.float64] | None
    n: NDArray[np.int64] | None
    averaged: dict[float, int] = field(default_factory=dict)
    doubled: list[float] = field(default_factory=list)
    partly: dict[float, int] = field(default_factory=dict)


def merge(streams: Sequence[Sequence[Point]], *, distinct: bool = False) -> Merged:
    """Merge streams of points into one value a step.

    Parameters
    ----------
    streams : sequence of sequences of Point
        Each in any order.
    distinct : bool
        Each stream is one replicate (a rank, an episode): equal points inside one are copies, and
        equal values of several are still several.
    """
    if len(streams) == 1 and all(a.step < b.step for a, b in pairwise(streams[0])):
        return _single(streams[0])
    at: dict[float, list[Point]] = {}
    for points in streams:
        for point in without_copies(points) if distinct else points:
            at.setdefault(point.step, []).append(point)
    steps = sorted(at)
    merged = Merged(np.array(steps, dtype=float), np.full(len(steps), math.nan), (), None, None)
    stderr, n = np.full(len(steps), math.nan), np.ones(len(steps), dtype=np.int64)
    nonfinite = []
    for i, step in enumerate(steps):
        group = at[step]
        finite = [p.value for p in group if abs(p.value) <= LARGEST]
        if not finite:
            nonfinite.append((step, str(group[0].value)))
            continue
        if len(finite) < len(group):
            merged.partly[step] = len(group) - len(finite)
        merged.values[i], stderr[i] = finite[0], group[0].stderr
        differ = min(finite) < max(finite)
        if differ or (distinct and len(finite) > 1):
            n[i] = merged.averaged[step] = len(finite)
            merged.values[i], stderr[i] = _mean_and_error(finite) if differ else (finite[0], 0.0)
        elif len(finite) > 1:
            merged.doubled.append(step)
    merged.nonfinite = tuple(nonfinite)
    merged.stderr = None if np.isnan(stderr).all() else stderr
    merged.n = None if (n == 1).all() else n
    return merged


def _single(points: Sequence[Point]) -> Merged:
    """Give a series that has nothing to merge."""
    steps, values, stderr = np.array(points, dtype=float).reshape(-1, 3).T.copy()
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST)).tolist()
    nonfinite = tuple((points[i].step, str(points[i].value)) for i in bad)
    values[bad] = stderr[bad] = math.nan
    return Merged(steps, values, nonfinite, None if np.isnan(stderr).all() else stderr, None)


def without_copies(points: Sequence[Point]) -> list[Point]:
    """Give the points, equal values of one step once."""
    kept: dict[float, list[Point]] = {}
    for point in points:
        same = kept.setdefault(point.step, [])
        if not any(equal(point.value, p.value) for p in same):
            same.append(point)
    return [p for group in kept.values() for p in group]


def _mean_and_error(values: list[float]) -> tuple[float, float]:
    """Give mean and sd(ddof=1) / sqrt(n)."""
    n = len(values)
    mean = math.fsum(values) / n
    return mean, math.hypot(*(v - mean for v in values)) / math.sqrt(n * (n - 1))
