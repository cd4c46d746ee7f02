"""Tests between rules that met the same runs: paired differences with Holm, ranks over worlds."""

from typing import NamedTuple

import numpy as np

from evalstop.benchmarks.intervals import LEVEL
from evalstop.detectors.observation import FloatArray


class Difference(NamedTuple):
    """Mean of paired differences, its interval, and the p-value of a mean of 0."""

    mean: float
    low: float
    high: float
    p: float


def mean_interval(values: FloatArray) -> tuple[float, float, float]:
    """Give the mean of independent values with the ends of its interval (Student's t).

    Values that are NaN count for nothing; the ends are NaN with fewer than two.
    """
    from scipy.stats import t

    told = values[~np.isnan(values)]
    if len(told) == 0:
        return np.nan, np.nan, np.nan
    mean = float(told.mean())
    if len(told) == 1:
        return mean, np.nan, np.nan
    half = float(t.ppf(0.5 + LEVEL / 2, len(told) - 1) * told.std(ddof=1) / np.sqrt(len(told)))
    return mean, mean - half, mean + half


def paired_difference(ours: FloatArray, theirs: FloatArray) -> Difference:
    """Compare two rules by what each scored in the same repetitions (paired t-test).

    With a handful of repetitions, each a mean over thousands of runs, the t-test is exact enough
    and a bootstrap over them is overconfident. Rules that never differ have p = 1.

    Parameters
    ----------
    ours, theirs : array (n_repetitions,)
        Scores, in the same order.
    """
    from scipy.stats import t

    difference = ours - theirs
    mean, low, high = mean_interval(difference)
    if not np.any(difference):
        return Difference(mean, low, high, 1.0)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    p = 2 * t.sf(abs(mean) / error, len(difference) - 1) if error > 0 else 0.0
    return Difference(mean, low, high, float(p))


def holm(p: FloatArray) -> FloatArray:
    """Adjust p-values of one family so that all rejections together are wrong with at most alpha.

    References
    ----------
    Holm (1979), "A simple sequentially rejective multiple test procedure".

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(steps, 1)
    return adjusted


class Ranks(NamedTuple):
    """Rules ranked in every block.

    Parameters
    ----------
    mean : array (n_rules,)
        Mean rank of each rule, 1 = best; ties share their ranks.
    p : float
        Of Friedman's test that all are alike.
    critical : float
        Mean ranks that differ by less may be alike (Nemenyi, at 5 %).
    """

    mean: FloatArray
    p: float
    critical: float


def rank_over_blocks(scores: FloatArray) -> Ranks:
    """Rank rules over blocks (worlds); higher scores are better.

    Parameters
    ----------
    scores : array (n_blocks, n_rules)
        At least 2 blocks and 3 rules, no NaN.

    References
    ----------
    Demsar (2006), "Statistical comparisons of classifiers over multiple data sets", JMLR 7.
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    n_blocks, n_rules = scores.shape
    mean = rankdata(-scores, axis=1).mean(axis=0)
    # Ranks that tie everywhere leave Friedman's statistic 0/0: nothing speaks against "alike".
    alike = bool((scores == scores[:, :1]).all())
    p = 1.0 if alike else float(friedmanchisquare(*scores.T).pvalue)
    q = studentized_range.ppf(LEVEL, n_rules, np.inf) / np.sqrt(2)
    critical = float(q * np.sqrt(n_rules * (n_rules + 1) / (6 * n_blocks)))
    return Ranks(mean, p, critical)
