"""Thresholds from the largest statistics of runs that should not be stopped: order statistics.

The threshold at rate a is the smallest value above the ceil((1-a)(n+1))-th smallest of the n runs'
largest statistics. A further run that is exchangeable with them then has an alarm (statistic >=
threshold) with probability at most a, for any detector, noise or correlation within a run.

References
----------
Vovk, Gammerman & Shafer (2005), *Algorithmic learning in a random world* (split conformal).
"""

import math

import numpy as np

from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.words import plural
from evalstop.errors import UserError


def largest_statistics(
    statistics: FloatArray, n_evals: IntArray, *, last_counts: bool = True
) -> FloatArray:
    """Give each run's largest statistic: it has an alarm exactly if that reaches the threshold.

    Parameters
    ----------
    statistics : array (n, m)
        What `scan` gives.
    n_evals : int array (n,)
        How many evals each run has.
    last_counts : bool
        Whether an alarm at the last eval counts (and spends the budget of false alarms).
    """
    counted = np.arange(statistics.shape[1]) < (n_evals - (not last_counts))[:, None]
    largest: FloatArray = np.where(counted, statistics, -np.inf).max(axis=1, initial=-np.inf)
    return largest


def check_rate(fpr: float) -> None:
    """Raise `UserError` unless a false-positive rate is between 0 and 1."""
    if not 0 < fpr < 1:
        raise UserError(f"fpr: must be between 0 and 1, got {fpr:g}")


def runs_needed(fpr: float) -> int:
    """Give how many negative runs a false-positive rate needs.

    >>> runs_needed(0.015), runs_needed(0.05)
    (66, 19)
    """
    check_rate(fpr)
    return math.ceil(1 / fpr - 1 - 1e-9)


def rate_for(n_runs: int) -> float:
    """Give the smallest rate that so many negative runs can set a threshold for, rounded up.

    >>> rate_for(19), rate_for(66)
    (0.05, 0.015)
    """
    return math.ceil(1000 / (n_runs + 1)) / 1000


def matched_threshold(largest: FloatArray, fpr: float) -> float:
    """Give the threshold at a false-positive rate.

    Parameters
    ----------
    largest : array (n,)
        Largest statistic of each run that should not be stopped; ``-inf`` where it cannot be.
    fpr : float
        Probability of an alarm that is allowed for one such run, in (0, 1).

    Raises
    ------
    UserError
        If there are too few runs for this rate.

    Examples
    --------
    >>> matched_threshold(np.arange(19.0), 0.05)  # integers: one more
    19.0
    >>> matched_threshold(np.arange(19.0) / 10, 0.05) > 1.8
    True
    """
    rank = order_rank(np.array(len(largest)), fpr)
    return float(just_above(np.partition(largest, rank)[rank], are_counts(largest)))


def order_rank(n: IntArray, fpr: float, besides: str = "") -> IntArray:
    """Give the index (from 0) of the order statistic of `n` runs."""
    needed, fewest = runs_needed(fpr), int(n.min(initial=np.iinfo(np.int64).max))
    if fewest < needed:
        raise UserError(
            f"fpr: {fpr:g} needs {plural(needed, 'negative run')} to set a threshold from, there "
            f"are {fewest}{besides}; add runs"
            + (f" or take at least {rate_for(fewest):g}" if fewest else "")
        )
    rank: IntArray = n - alarms_allowed(n, fpr)
    return rank


def alarms_allowed(n: IntArray, rate: float | FloatArray) -> IntArray:
    """Give how many of `n` + 1 exchangeable runs may have an alarm at a rate."""
    allowed: IntArray = np.floor(rate * (n + 1) + 1e-9).astype(np.int64)
    return allowed


def are_counts(values: FloatArray) -> bool:
    """Tell whether a statistic counts (k-decline): then the next value is one more.

    Where all are 0 it may as well be a drawdown of runs that never fell: the next float is right
    for both.
    """
    told = values[np.isfinite(values)]
    counts = (told == np.round(told)) & (told >= 0)
    return bool(counts.all() and told.max(initial=0) > 0)


def just_above(value: FloatArray, counts: bool) -> FloatArray:
    """Give the smallest value above; the one above -inf is the smallest float."""
    if np.isposinf(value).any():
        raise UserError("the statistic is infinite on negative runs: no threshold lies above it")
    return np.where(counts & np.isfinite(value), value + 1, np.nextafter(value, np.inf))
