"""Thresholds matched at a false-positive rate, from runs that should not be stopped.

The threshold at rate a is the smallest value above the ceil((1-a)(n+1))-th smallest of the n runs'
largest statistics. A further run that is exchangeable with them then has an alarm (statistic >=
threshold) with probability at most a, for any detector, noise or correlation within a run.
"""

import math

import numpy as np

from evalstop.benchmarks.population import BoolArray
from evalstop.detectors.observation import FloatArray, IntArray
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


def runs_needed(fpr: float) -> int:
    """Give how many negative runs a false-positive rate needs.

    >>> runs_needed(0.015), runs_needed(0.05)
    (66, 19)
    """
    if not 0 < fpr < 1:
        raise UserError(f"fpr: must be between 0 and 1, got {fpr}")
    return math.ceil(1 / fpr - 1 - 1e-9)


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
    rank = _rank(np.array(len(largest)), fpr)
    return float(_above(np.sort(largest)[rank], _whole(largest)))


def held_out_thresholds(
    largest: FloatArray, negative: BoolArray, groups: IntArray, fpr: float
) -> FloatArray:
    """Give each run the threshold that all *other groups'* negatives give, ``(n,)``.

    This is cross-validation that leaves one group out at a time, so no run has a say in its own
    threshold, nor has any other curve of the same training run.

    Parameters
    ----------
    largest : array (n,)
        Largest statistic of every run.
    negative : bool array (n,)
        Which of them should not be stopped.
    groups : int array (n,)
        Runs of one group (0, 1, ...) stay together.
    """
    order = np.flatnonzero(negative)[np.argsort(largest[negative], kind="stable")]
    ascending, owner = largest[order], groups[order]
    n_groups = int(groups.max(initial=0)) + 1
    left_out = np.bincount(owner, minlength=n_groups)
    rank = _rank(len(order) - left_out, fpr, " besides those of the judged run")
    # The r-th of those that stay: go one further for each of the group's own that lies before it.
    for place in np.lexsort((np.arange(len(order)), owner)):
        rank[owner[place]] += place <= rank[owner[place]]
    thresholds = _above(ascending[rank], _whole(ascending))
    return thresholds[groups]


def _rank(n: IntArray, fpr: float, besides: str = "") -> IntArray:
    """Give the index (from 0) of the order statistic of `n` runs."""
    needed, fewest = runs_needed(fpr), int(n.min(initial=np.iinfo(np.int64).max))
    if fewest < needed:
        least = math.ceil(1000 / (fewest + 1)) / 1000
        raise UserError(
            f"fpr: {fpr:g} needs {needed} negative runs to set a threshold from, there are "
            f"{fewest}{besides}; add runs" + (f" or take at least {least:g}" if fewest else "")
        )
    rank: IntArray = np.ceil((1 - fpr) * (n + 1) - 1e-9).astype(np.int64) - 1
    return rank


def _whole(largest: FloatArray) -> bool:
    """Tell whether a statistic counts (k-decline): then the next value is one more.

    Where all are 0 it may as well be a drawdown of runs that never fell: the next float is right
    for both.
    """
    told = largest[np.isfinite(largest)]
    counts = (told == np.round(told)) & (told >= 0)
    return bool(counts.all() and told.max(initial=0) > 0)


def _above(value: FloatArray, whole: bool) -> FloatArray:
    """Give the smallest value above; the one above -inf is the smallest float."""
    if np.isposinf(value).any():
        raise UserError("the statistic is infinite on negative runs: no threshold lies above it")
    return np.where(whole & np.isfinite(value), value + 1, np.nextafter(value, np.inf))
