"""Run lengths of control charts: how long until an alarm, true or false.

T is the number of observations up to and including the first alarm, ``statistic >= threshold``. The
observations are independent, normal, of unit variance; `mean` is their shift towards the alarm in
sigma (for our members, which look for declines: (target - score) / sigma). Everything is computed
from the integral equation of the chart by Gauss-Legendre quadrature (`nystroem`), to about 1e-10
relative, checked against published tables, an independent program and simulation in the tests.

>>> from evalstop.detectors.charts import CusumChart, EwmaChart
>>> cusum = CusumChart(k=0.5, sided="two")
>>> round(arl(cusum, 4.0), 1), round(arl(cusum, 4.0, mean=1.0), 2)
(167.7, 8.38)
>>> round(threshold_for_false_alarm(EwmaChart(weight=0.2), alpha=0.05, n=20), 4)
2.5592

References
----------
Page (1954), doi:10.1093/biomet/41.1-2.100; Knoth, R package spc (an independent program).
"""

import math
from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from evalstop.detectors import two_sided_cusum
from evalstop.detectors.charts import Array, Chart, CusumChart
from evalstop.detectors.nystroem import Chain, expected_times, quasi_stationary
from evalstop.detectors.words import plural
from evalstop.errors import UserError


def arl(chart: Chart, threshold: float, mean: float = 0.0) -> float:
    """Give the average run length E[T] from the start of the chart.

    Parameters
    ----------
    chart : CusumChart, EwmaChart or ShiryaevRobertsChart
        The chart.
    threshold : float
        Alarm threshold > 0 on the scale of the statistic.
    mean : float
        Shift towards the alarm, from the first observation on, in sigma.

    Returns
    -------
    float
        Expected number of observations, at least 1; ``inf`` if it exceeds the largest float.
    """
    return conditional_expected_delay(chart, threshold, 0, mean)


def run_length_pmf(chart: Chart, threshold: float, n: int, mean: float = 0.0) -> Array:
    """``P(T = t)`` for t = 1..n, shape ``(n,)``."""
    _check(chart, threshold, n)
    if _has_halves(chart):
        first = two_sided_cusum.first_alarms(chart, threshold, mean, n)
        return (first.upper + first.lower)[1:]
    return np.array([law.alarm for law in Chain(chart, threshold, mean).laws(mean, n)])


def survival_curve(chart: Chart, threshold: float, n: int, mean: float = 0.0) -> Array:
    """``P(T > t)`` for t = 0..n, shape ``(n + 1,)``."""
    _check(chart, threshold, n)
    if _has_halves(chart):
        alarmed = np.cumsum(run_length_pmf(chart, threshold, n, mean))
        return np.append(1.0, np.maximum(1 - alarmed, 0.0))
    laws = Chain(chart, threshold, mean).laws(mean, n)
    return np.array([1.0, *(law.states.sum() for law in laws)])


def survival(chart: Chart, threshold: float, n: int, mean: float = 0.0) -> float:
    """``P(T > n)``: the chance of no alarm within `n` observations."""
    return float(survival_curve(chart, threshold, n, mean)[-1])


def conditional_expected_delay(
    chart: Chart, threshold: float, change: int, mean: float, mean_before: float = 0.0
) -> float:
    """``E[T - change | T > change]`` for a shift after `change` observations.

    Parameters
    ----------
    chart, threshold
        As for `arl`.
    change : int
        Number of observations before the shift; 0 gives the `arl`.
    mean, mean_before : float
        Shift towards the alarm after and before the change, in sigma.
    """
    _check(chart, threshold, change)
    if _has_halves(chart):
        delays = two_sided_cusum.delays(chart, threshold, mean, mean_before, change)
        return float(delays[-1])
    chain = Chain(chart, threshold, mean, mean_before)
    law, alive, waited = np.ones(1), 1.0, 0.0
    for before in chain.laws(mean_before, change):
        law, alive = before.states, before.states.sum()
    # E[(T - change)+] sums P(T > t) until the interval has settled (after one observation at
    # least, since the start is no state of the chain), then takes the expected times from there.
    for after in chain.laws(mean, max(0, chain.settled - change), law, change):
        waited += law.sum()
        law = after.states
    if alive == 0:
        raise UserError(
            f"no chart goes {plural(change, 'observation')} without an alarm: there is no delay"
        )
    return float((waited + expected_times(chain.settled_steps(mean)).after(law)) / alive)


def steady_state_arl(
    chart: Chart, threshold: float, mean: float, mean_before: float = 0.0
) -> float:
    """Give the delay of a shift long after the start: the limit of `conditional_expected_delay`.

    The chart then follows its quasi-stationary law: many observations, and no alarm among them.
    """
    _check(chart, threshold, 0)
    if _has_halves(chart):
        return two_sided_cusum.late_delay(chart, threshold, mean, mean_before)
    chain = Chain(chart, threshold, mean, mean_before)
    law = quasi_stationary(chain.settled_steps(mean_before))
    return expected_times(chain.settled_steps(mean)).after(law)


def threshold_for_arl(chart: Chart, target: float, mean: float = 0.0) -> float:
    """Find the threshold whose `arl` is `target`, in observations, larger than 1."""
    if not 1 < target < math.inf:
        raise UserError(f"an ARL must be more than one observation, got {target:g}")
    goal = f"an ARL of {target:g}"
    return _solve(chart, lambda threshold: arl(chart, threshold, mean) / target, goal)


def threshold_for_false_alarm(chart: Chart, alpha: float, n: int, mean: float = 0.0) -> float:
    """Find the threshold with ``P(T <= n) = alpha``, a budget of false alarms over a horizon."""
    if not 0 < alpha < 1:
        raise UserError(f"alpha must be between 0 and 1, got alpha={alpha:g}")
    if n < 1:
        raise UserError(f"a horizon must be at least one observation, got n={n}")
    goal = f"an alarm within {plural(n, 'observation')} with chance {alpha:g}"

    def ratio(threshold: float) -> float:
        return alpha / max(float(run_length_pmf(chart, threshold, n, mean).sum()), 1e-300)

    return _solve(chart, ratio, goal)


def _solve(chart: Chart, ratio: Callable[[float], float], goal: str) -> float:
    """Find the threshold where `ratio` is one; it grows roughly exponentially."""
    from scipy.optimize import brentq

    low = chart.least_threshold + 1e-9
    high = low + 1
    if ratio(low) > 1:
        raise UserError(f"no threshold has {goal}: even the smallest alarms less often")
    while ratio(high) < 1:
        low, high = high, 2 * high
    return float(brentq(lambda t: math.log(ratio(t)), low, high, xtol=1e-13, rtol=1e-13))


def _has_halves(chart: Chart) -> TypeGuard[CusumChart]:
    return isinstance(chart, CusumChart) and chart.sided == "two"


def _check(chart: Chart, threshold: float, n: int) -> None:
    if not chart.least_threshold < threshold < math.inf:
        least = chart.least_threshold
        raise UserError(f"the threshold of this chart must be above {least:g}, got {threshold:g}")
    if n < 0:
        raise UserError(f"a number of observations must be at least 0, got {n}")
