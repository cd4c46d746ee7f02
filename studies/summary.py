"""From cells to what is said: means over the repetitions of a study, with intervals, and paired.

Intervals are percentiles of a bootstrap over repetitions. All of them use the same resamples, and
contenders meet the same runs in each repetition, so that differences are paired.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from evalstop.benchmarks.intervals import percentiles, resample
from evalstop.detectors.observation import FloatArray

N_RESAMPLES = 2000


def summarize(frame: pd.DataFrame, by: Sequence[str], scores: Sequence[str]) -> pd.DataFrame:
    """Give mean, lower and upper end of each score, for each combination of `by`.

    Parameters
    ----------
    frame : DataFrame
        Results: one row for each cell, with a column ``repeat``.
    by : sequence of str
        Columns that tell cells of different kinds apart.
    scores : sequence of str
        Columns to summarize; a repetition where one is NaN counts for nothing.

    Returns
    -------
    DataFrame
        Columns `by`, then ``score``, ``score_low``, ``score_high`` for each; rows in the order in
        which the combinations appear.
    """
    by, scores = list(by), list(scores)
    kinds = frame[by].drop_duplicates().reset_index(drop=True)
    wide = frame.set_index([*by, "repeat"])[scores].unstack("repeat")
    wide = wide.reindex(pd.MultiIndex.from_frame(kinds) if len(by) > 1 else kinds[by[0]])
    draws = resample(frame["repeat"].nunique(), N_RESAMPLES, seed=0)
    columns: dict[str, FloatArray] = {}
    for score in scores:
        values = wide[score].to_numpy(dtype=np.float64)
        low, high = np.array([percentiles(row) for row in _means(values, draws)]).T
        mean = _means(values, np.ones((1, values.shape[1])))[:, 0]
        columns |= {score: mean, f"{score}_low": low, f"{score}_high": high}
    return pd.concat([kinds, pd.DataFrame(columns)], axis=1)


def against(
    frame: pd.DataFrame, baseline: Mapping[str, object], scores: Sequence[str]
) -> pd.DataFrame:
    """Give the results with what the baseline scores at the same point and repetition taken off.

    Parameters
    ----------
    frame : DataFrame
        Results.
    baseline : mapping
        Columns and values that pick the baseline: one row for each point and repetition.
    scores : sequence of str
        Columns to take differences of.
    """
    scores, place = list(scores), ["point", "repeat"]
    rows = np.logical_and.reduce([frame[name] == value for name, value in baseline.items()])
    base = frame[rows].set_index(place)[scores]
    differences = frame.copy()
    differences[scores] -= base.reindex(pd.MultiIndex.from_frame(frame[place])).to_numpy()
    return differences


def _means(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weigh repetitions: ``(n_rows, n_repeats), (n_draws, n_repeats) -> (n_rows, n_draws)``."""
    told = ~np.isnan(values)
    total = told.astype(np.float64) @ weights.T
    sums = np.where(told, values, 0) @ weights.T
    means: FloatArray = np.divide(sums, total, out=np.full_like(sums, np.nan), where=total > 0)
    return means


def leaders(
    frame: pd.DataFrame, by: Sequence[str], score: str, baseline: Mapping[str, object]
) -> pd.DataFrame:
    """Give the contender with the highest mean score for each combination of `by`.

    Parameters
    ----------
    frame : DataFrame
        Results with a column ``contender``.
    by : sequence of str
        Columns that tell points apart.
    score : str
        What to rank by; higher is better.
    baseline : mapping
        Columns and values that pick the contender to beat, see `against`.

    Returns
    -------
    DataFrame
        What `summarize` gives, one row for each combination, with ``gain``, ``gain_low``,
        ``gain_high``: how much more it scores than the baseline, paired.
    """
    kinds = [*by, "contender"]
    told = summarize(frame, kinds, [score])
    gains = summarize(against(frame, baseline, [score]), kinds, [score])
    for end in ("", "_low", "_high"):
        told[f"gain{end}"] = gains[f"{score}{end}"]
    best = told.groupby(list(by), sort=False)[score].idxmax()
    return told.loc[best].reset_index(drop=True)
