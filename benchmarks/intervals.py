"""Intervals: Wilson for independent runs, a clustered bootstrap otherwise."""

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.intervals import LEVEL, Ends, wilson
from evalstop.detectors.observation import FloatArray, IntArray

__all__ = ["LEVEL", "Ends", "percentiles", "resample", "share_interval", "wilson"]


def resample(n_groups: int, n_resamples: int, seed: int) -> FloatArray:
    """Draw groups with replacement; give how often each was drawn, ``(n_resamples, n_groups)``.

    One seed gives one matrix, so that statistics of several rules are paired.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n_groups, np.full(n_groups, 1 / max(n_groups, 1)), n_resamples)
    return drawn.astype(np.float64)


def percentiles(resampled: FloatArray, level: float = LEVEL) -> Ends:
    """Give the percentile interval of resampled values; those that are NaN count for nothing."""
    told = resampled[~np.isnan(resampled)]
    if told.size == 0:
        return np.nan, np.nan
    low, high = np.quantile(told, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def share_interval(
    hits: NDArray[np.bool_],
    among: NDArray[np.bool_],
    groups: IntArray,
    draws: FloatArray,
    level: float = LEVEL,
) -> Ends:
    """Give the interval of the share of `hits` among the runs `among`.

    Wilson if no two of these runs are in one group, otherwise the percentiles of the clustered
    bootstrap. Where this never varies (a share of 0 or 1, a single group) it would pretend to be
    sure: there it is Wilson with as many runs as groups, as if all of a group said the same.

    Parameters
    ----------
    hits, among : bool array (n,)
        Numerator (a part of `among`) and denominator.
    groups : int array (n,)
        Runs of one group are not independent.
    draws : array (n_resamples, n_groups)
        What `resample` gives.
    """
    n_groups = draws.shape[1]
    whole = np.bincount(groups[among], minlength=n_groups).astype(float)
    part = np.bincount(groups[among & hits], minlength=n_groups).astype(float)
    occupied = float(np.count_nonzero(whole))
    if whole.max(initial=0) > 1:
        wholes = draws @ whole
        shares = np.divide(draws @ part, wholes, out=np.full(len(draws), np.nan), where=wholes > 0)
        low, high = percentiles(shares, level)
        if low < high:
            return low, high
    share = part.sum() / max(whole.sum(), 1)
    return wilson(share * occupied, occupied, level)
