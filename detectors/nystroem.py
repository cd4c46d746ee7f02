"""Nystroem's method for control charts: a chart becomes a Markov chain on Gauss-Legendre nodes.

The chain has one state for each node of the continuation interval and one for the atom of a chart
that is held at the lower end, so that nothing that is integrated has a jump: errors fall
geometrically in the number of nodes. Expected times come from the elimination of Grassmann, Taksar
& Heyman, which subtracts nothing and so keeps a relative accuracy of about 1e-13 even where the
run length is 1e20 and a general solver would return noise.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from evalstop.detectors.charts import Array, Chart
from evalstop.errors import UserError

# Nodes for each length over which the kernel varies; twice as many change no result by 1e-12.
NODES = 3
MOST_NODES = 2000


class Grid(NamedTuple):
    """States of the chain: the values of ``u`` and their quadrature weights, each ``(m,)``."""

    low: float
    high: float
    values: Array
    weights: Array


class Steps(NamedTuple):
    """One step of the chain: to the states of the next grid ``(m, m')``, and to the alarm ``(m,)``.

    Rows sum to one with their alarm up to the quadrature's error.
    """

    stay: Array
    alarm: Array


class Law(NamedTuple):
    """After an observation: P(state, no alarm so far) ``(m,)`` and P(alarm at this one)."""

    states: Array
    alarm: float


class Chain:
    """A chart with its threshold, on grids that hold for every mean in `means`."""

    def __init__(self, chart: Chart, threshold: float, *means: float) -> None:
        self.chart = chart
        self.threshold = threshold
        self.lowest_mean = min(means)
        self.settled = max(1, chart.settled)
        low, high = chart.interval(threshold, self.lowest_mean, self.settled)
        self.n_nodes = 16 + int(NODES * (high - low) / chart.smoothness)
        if self.n_nodes > MOST_NODES:
            raise UserError(
                f"threshold {threshold:g}: the run length needs {self.n_nodes} quadrature nodes, "
                f"at most {MOST_NODES} are used, take a smaller threshold"
            )

    def grid(self, n: int) -> Grid:
        """Give the states after `n` observations (0 = the start alone)."""
        low, high = self.chart.interval(self.threshold, self.lowest_mean, n)
        if n == 0:
            return Grid(low, high, np.array([self.chart.start]), np.ones(1))
        nodes, weights = legendre(self.n_nodes)
        values, weights = low + (nodes + 1) * (high - low) / 2, weights * (high - low) / 2
        if self.chart.below == "held":
            values, weights = np.append(low, values), np.append(0.0, weights)
        return Grid(low, high, values, weights)

    def steps(self, n: int, mean: float) -> Steps:
        """Give the transitions of the `n`-th observation, whose mean is `mean`."""
        return transitions(self.chart, self.grid(n - 1), self.grid(n), mean)

    def settled_steps(self, mean: float) -> Steps:
        """Give the transitions once the interval no longer changes."""
        return self.steps(self.settled + 1, mean)

    def laws(self, mean: float, n: int, law: Array | None = None, seen: int = 0) -> Iterator[Law]:
        """Yield the law after each of `n` more observations with this mean.

        It starts from `law` after `seen` observations, by default at the start of the chart.
        """
        law = np.ones(1) if law is None else law
        lasting = None
        for t in range(seen + 1, seen + n + 1):
            if t > self.settled:
                steps = lasting = lasting or self.settled_steps(mean)
            else:
                steps = self.steps(t, mean)
            alarm = float(law @ steps.alarm)
            law = law @ steps.stay
            yield Law(law, alarm)


def transitions(chart: Chart, old: Grid, new: Grid, mean: float) -> Steps:
    """Discretise the kernel from one grid to the next."""
    from scipy.special import ndtr

    drift = chart.drift(old.values)
    residual = (new.values - drift[:, None]) / chart.scale - mean
    stay = np.exp(-(residual**2) / 2) * (new.weights / (chart.scale * np.sqrt(2 * np.pi)))
    alarm = ndtr((drift - new.high) / chart.scale + mean)
    below = ndtr((new.low - drift) / chart.scale - mean)
    if chart.below == "held":
        stay[:, 0] = below
    elif chart.below == "alarm":
        alarm = alarm + below
    return Steps(stay, alarm)


class Times(NamedTuple):
    """Expected number of steps to the alarm from every state, ``(m,)``."""

    states: Array

    def after(self, law: Array) -> float:
        """Give the expectation under a law ``(m,)``, times the mass of that law."""
        if np.isinf(self.states[0]):
            return math.inf
        return float(law @ self.states)


def expected_times(steps: Steps) -> Times:
    """Solve for the expected number of steps to the alarm; infinite if that underflows."""
    stay, alarm = steps.stay.copy(), steps.alarm.copy()
    n = len(alarm)
    times, leaves = np.ones(n), np.ones(n)
    for i in range(n - 1, 0, -1):  # take state i out of the chain
        leaves[i] = alarm[i] + stay[i, :i].sum()
        visits = stay[:i, i] / leaves[i]
        stay[:i, :i] += visits[:, None] * stay[i, :i]
        alarm[:i] += visits * alarm[i]
        times[:i] += visits * times[i]
    leaves[0] = alarm[0]
    if leaves[0] < np.finfo(float).tiny:
        return Times(np.full(n, math.inf))
    for i in range(n):  # and put it back
        times[i] = (times[i] + stay[i, :i] @ times[:i]) / leaves[i]
    return Times(times)


def quasi_stationary(steps: Steps) -> Array:
    """Law of the state after many steps without an alarm, ``(m,)``, sums to one."""
    from scipy.sparse.linalg import eigs

    _, vectors = eigs(steps.stay.T, k=1, which="LR", v0=np.ones(len(steps.alarm)))
    law = np.abs(vectors[:, 0].real)
    return np.asarray(law / law.sum(), dtype=np.float64)


@lru_cache
def legendre(n: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(n)
    return nodes, weights
