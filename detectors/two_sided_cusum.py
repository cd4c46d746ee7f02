"""The two-sided CUSUM from its two halves, exactly, without a two-dimensional chart.

When one half reaches the threshold the other is at zero (if their head starts sum to at most
``h + 2 k``), so a run length of one half is that of the pair, or, where the other half was first, a
fresh start from that moment on. With F and G the laws of "the upper (lower) half is first, at t",
A and B those of the upper and lower half alone from zero, and P and Q from the head start:

    P = F + G A,    Q = G + F B

as generating functions, which gives F and G. For means this is the rule 1/ARL = 1/ARL+ + 1/ARL-.

References
----------
Van Dobben de Bruyn (1968), Cumulative Sum Tests; Lucas & Crosier (1982), doi:10.2307/1268149.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evalstop.detectors.charts import Array, CusumChart
from evalstop.detectors.nystroem import Chain, expected_times
from evalstop.detectors.words import plural
from evalstop.errors import UserError

# A smaller share of survivors, which is what 1 leaves of all alarms, would be a rounding error.
ROUNDING = 1e-8


class First(NamedTuple):
    """P(this half is the first to alarm, at eval t) for t = 0..n, each ``(n + 1,)``."""

    upper: Array
    lower: Array


def first_alarms(chart: CusumChart, threshold: float, mean: float, n: int) -> First:
    """Give the law of the run length, split by the half that alarms."""
    start, zero = _halves(chart)

    def pmf(half: CusumChart, shift: float) -> Array:
        return np.array([0.0, *(law.alarm for law in Chain(half, threshold, shift).laws(shift, n))])

    upper, lower = pmf(zero, mean), pmf(zero, -mean)
    upper_start, lower_start = pmf(start, mean), pmf(start, -mean)
    both = _product(upper, lower)
    return First(
        _repeated(upper_start - _product(lower_start, upper), both),
        _repeated(lower_start - _product(upper_start, lower), both),
    )


def delays(chart: CusumChart, threshold: float, mean: float, mean_before: float, n: int) -> Array:
    """Give ``E[T - c | T > c]`` for shifts after c = 0..n observations, ``(n + 1,)``."""
    late, alive = _expected_delays(chart, threshold, mean, mean_before, n)
    if alive[-1] < ROUNDING:
        raise UserError(
            f"no chart goes {plural(n, 'observation')} without an alarm: there is no delay"
        )
    return late / alive


def late_delay(chart: CusumChart, threshold: float, mean: float, mean_before: float) -> float:
    """Give the limit of `delays` for late changes, to about 1e-9."""
    n = 8
    while True:
        late, alive = _expected_delays(chart, threshold, mean, mean_before, n)
        half, limit = (late / alive)[[n // 2, n]]
        if math.isclose(half, limit, rel_tol=1e-5):  # twice the time squares what is missing
            return float(limit)
        if alive[-1] < ROUNDING or n > 10_000:
            raise UserError(
                f"k={chart.k:g}: with threshold {threshold:g} this chart is far from a steady "
                "state when it alarms, take a larger k"
            )
        n *= 2


def _expected_delays(
    chart: CusumChart, threshold: float, mean: float, mean_before: float, n: int
) -> tuple[Array, Array]:
    """Give ``E[(T - c)+]`` and ``P(T > c)`` for c = 0..n, each ``(n + 1,)``."""
    start, zero = _halves(chart)
    first = first_alarms(chart, threshold, mean_before, n)
    alive = 1 - np.cumsum(first.upper + first.lower)

    def half(first_other: Array, sign: int) -> tuple[Array, float]:
        """Give the delay of a half less its fresh starts before c, and that of a start at c."""
        fresh = _half_delays(zero, threshold, sign * mean, sign * mean_before, n)
        mine = _half_delays(start, threshold, sign * mean, sign * mean_before, n)
        return mine - _product(first_other, fresh), fresh[0]

    # Each is E[(T - c)+] + P(the other half is first, after c) * (its delay from a start at c).
    (quick, quick_start), (slow, slow_start) = sorted(
        (half(first.lower, 1), half(first.upper, -1)), key=lambda h: h[1]
    )
    if math.isinf(slow_start):
        return quick, alive
    share = (quick - slow + alive * slow_start) / (quick_start + slow_start)
    return quick - share * quick_start, alive


def _halves(chart: CusumChart) -> tuple[CusumChart, CusumChart]:
    """Give one half from its head start and from zero."""
    start = replace(chart, sided="one")
    return start, replace(start, head_start=0.0)


def _half_delays(
    half: CusumChart, threshold: float, mean: float, mean_before: float, n: int
) -> Array:
    chain = Chain(half, threshold, mean, mean_before)
    times = expected_times(chain.settled_steps(mean))
    at_once = 1 + times.after(chain.steps(1, mean).stay[0])
    return np.array([at_once, *(times.after(law.states) for law in chain.laws(mean_before, n))])


def _product(a: Array, b: Array) -> Array:
    """Multiply two power series of the same length."""
    return np.convolve(a, b)[: len(a)]


def _repeated(a: Array, b: Array) -> Array:
    """Give ``a / (1 - b)`` for power series of the same length; ``b[0]`` is zero."""
    c = a.copy()
    for i in range(1, len(a)):
        c[i] += c[:i] @ b[i:0:-1]
    return c
