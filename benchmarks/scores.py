"""The scores of a stop rule on a population: one number each, and their intervals.

Every score is a function of sums over runs. So the sums are made once, for each group of runs that
are not independent, and a bootstrap only weighs them anew: it never looks at a run again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalstop.benchmarks.intervals import LEVEL, percentiles, resample
from evalstop.benchmarks.outcomes import Delays, Outcomes, delays, outcomes
from evalstop.benchmarks.population import LabelledRuns
from evalstop.detectors.observation import FloatArray, IntArray


class Scores(NamedTuple):
    """The scores of one rule; NaN where one has nothing to be counted on.

    Parameters
    ----------
    tp, fn : count
        Hacking runs with an alarm at any eval (the last included), and without.
    fp_all, tn_all : count
        Runs of all other kinds with an alarm, and without (or that may not be stopped).
    precision, recall : share
        tp / (tp + fp_all), tp / (tp + fn).
    fpr_all, fpr_healthy : share
        Alarms among all runs that are not hacking, and among the healthy ones.
    tp_post_peak : count
        Hacking runs with their first alarm at or after the peak and before their last eval.
    premature : share
        Hacking runs with their first alarm before the peak.
    last_only : share
        True positives whose first alarm is at the last eval.
    recall_before_last : share
        Recall when an alarm at the last eval does not count.
    saved, saved_any : share
        GPU-time after the peak that stops give back; `saved` gives premature stops nothing.
    post_peak_gpu_hours : GPU-time
        What there was to be saved.
    delay_median, delay_mean : evals
        From the first eval at or after the peak to the alarm: the median of the detected, and the
        mean restricted to the longest follow-up, runs without an alarm censored at their end.
    regret, regret_best, regret_k_back : share
        Mean regret of the kept checkpoint; `regret_best` when a run never stopped keeps its best,
        `regret_k_back` over the stopped runs when these go back k evals.
    """

    tp: float
    fn: float
    fp_all: float
    tn_all: float
    precision: float
    recall: float
    fpr_all: float
    fpr_healthy: float
    tp_post_peak: float
    premature: float
    last_only: float
    recall_before_last: float
    saved: float
    saved_any: float
    post_peak_gpu_hours: float
    delay_median: float
    delay_mean: float
    regret: float
    regret_best: float
    regret_k_back: float


def score(population: LabelledRuns, alarms: ArrayLike, k_back: int | None = None) -> Scores:
    """Score the first alarms of all runs (see `outcomes` for the arguments)."""
    return score_outcomes(population, outcomes(population, alarms, k_back))


def score_outcomes(population: LabelledRuns, judged: Outcomes) -> Scores:
    """Score judged runs."""
    sums = _sums(population, judged, np.zeros(len(population), dtype=np.int64))
    scores = _scores(sums, longest_follow_up(population))
    return Scores(**{name: float(value[0]) for name, value in scores.items()})


def score_intervals(  # noqa: PLR0913 - the data and how the bootstrap runs
    population: LabelledRuns,
    judged: Outcomes,
    groups: IntArray,
    *,
    seed: int,
    n_resamples: int = 2000,
    level: float = LEVEL,
) -> tuple[Scores, Scores]:
    """Give the lower and upper ends of a clustered percentile bootstrap.

    Parameters
    ----------
    groups : int array (n,)
        Runs of one group (0, 1, ...) are drawn together.
    seed : int
        Rules scored with one seed are resampled alike, so that their differences are paired.
    """
    draws = resample(int(groups.max(initial=0)) + 1, n_resamples, seed)
    scores = resampled_scores(population, judged, groups, draws)
    ends = {name: percentiles(values, level) for name, values in scores.items()}
    return (
        Scores(**{name: low for name, (low, _) in ends.items()}),
        Scores(**{name: high for name, (_, high) in ends.items()}),
    )


def resampled_scores(
    population: LabelledRuns, judged: Outcomes, groups: IntArray, draws: FloatArray
) -> dict[str, FloatArray]:
    """Give every score for each resample, ``(n_resamples,)``.

    Parameters
    ----------
    groups : int array (n,)
        Runs of one group (0, 1, ...) are drawn together.
    draws : array (n_resamples, n_groups)
        How often each group was drawn (`evalstop.benchmarks.intervals.resample`); a row of ones
        gives the scores themselves.
    """
    sums = {name: draws @ part for name, part in _sums(population, judged, groups).items()}
    return _scores(sums, longest_follow_up(population))


def longest_follow_up(population: LabelledRuns) -> int:
    """Give the most evals that any hacking run has after the first at or after its peak."""
    return int(delays(population, np.full(len(population), -1)).follow_up.max(initial=0))


def mean_delay(found: Delays, horizon: int) -> float:
    """Give `Scores.delay_mean` alone, for a whole curve of thresholds."""
    tables = _delay_tables(found, np.zeros(len(found.delay), dtype=np.int64), horizon + 1)
    return float(_restricted_mean(*tables, horizon)[0])


def _sums(population: LabelledRuns, judged: Outcomes, groups: IntArray) -> dict[str, FloatArray]:
    """Sum over the runs of each group: ``(n_groups,)``, for delays ``(n_groups, n_evals)``."""
    n_groups = int(groups.max(initial=0)) + 1
    hacking, healthy, alarmed = population.hacking, population.healthy, judged.alarm >= 0
    columns = {
        "hacking": hacking,
        "other": ~hacking,
        "healthy": healthy,
        "tp": hacking & alarmed,
        "fp": ~hacking & alarmed,
        "fp_healthy": healthy & alarmed,
        "tp_post_peak": judged.post_peak,
        "tp_last": hacking & judged.at_last,
        "premature": judged.premature,
        "saved": judged.saved,
        "saved_any": judged.saved_any,
        "hours": judged.post_peak_hours,
    }
    for name in ("regret", "regret_best", "regret_k_back"):
        values = getattr(judged, name)
        columns[name] = np.nan_to_num(values)
        columns[f"{name}_n"] = ~np.isnan(values)
    sums = {n: np.bincount(groups, c, n_groups).astype(np.float64) for n, c in columns.items()}
    width = population.observed.shape[1]
    sums["detected"], sums["watched"] = _delay_tables(judged.delays, groups, width, n_groups)
    return sums


def _delay_tables(
    found: Delays, groups: IntArray, width: int, n_groups: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Count, for each group and number of evals, the alarms and the runs that leave then."""

    def table(values: IntArray) -> FloatArray:
        cells = (groups * width + values)[values >= 0]
        counts = np.bincount(cells, minlength=n_groups * width)
        return counts.reshape(n_groups, width).astype(float)

    return table(found.delay), table(np.where(found.delay >= 0, found.delay, found.follow_up))


def _scores(s: dict[str, FloatArray], horizon: int) -> dict[str, FloatArray]:
    """Turn sums into scores; the leading axis is kept."""
    return {
        "tp": s["tp"],
        "fn": s["hacking"] - s["tp"],
        "fp_all": s["fp"],
        "tn_all": s["other"] - s["fp"],
        "precision": _ratio(s["tp"], s["tp"] + s["fp"]),
        "recall": _ratio(s["tp"], s["hacking"]),
        "fpr_all": _ratio(s["fp"], s["other"]),
        "fpr_healthy": _ratio(s["fp_healthy"], s["healthy"]),
        "tp_post_peak": s["tp_post_peak"],
        "premature": _ratio(s["premature"], s["hacking"]),
        "last_only": _ratio(s["tp_last"], s["tp"]),
        "recall_before_last": _ratio(s["tp"] - s["tp_last"], s["hacking"]),
        "saved": _ratio(s["saved"], s["hours"]),
        "saved_any": _ratio(s["saved_any"], s["hours"]),
        "post_peak_gpu_hours": s["hours"],
        "delay_median": _median(s["detected"]),
        "delay_mean": _restricted_mean(s["detected"], s["watched"], horizon),
        "regret": _ratio(s["regret"], s["regret_n"]),
        "regret_best": _ratio(s["regret_best"], s["regret_best_n"]),
        "regret_k_back": _ratio(s["regret_k_back"], s["regret_k_back_n"]),
    }


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


def _median(counts: FloatArray) -> FloatArray:
    """Give the median of the values 0, 1, ... that occur `counts` times, along the last axis."""
    total, below = counts.sum(axis=-1, keepdims=True), counts.cumsum(axis=-1)
    low = (below >= np.ceil(total / 2)).argmax(axis=-1)
    high = (below >= np.floor(total / 2) + 1).argmax(axis=-1)
    return np.where(total[..., 0] > 0, (low + high) / 2, np.nan)


def _restricted_mean(detected: FloatArray, watched: FloatArray, horizon: int) -> FloatArray:
    """Give the mean of min(delay, horizon): the area under the Kaplan-Meier curve.

    Parameters
    ----------
    detected, watched : array (..., n_evals)
        How many runs have their alarm, and how many leave (by an alarm or at their end), at each
        number of evals after the peak.
    """
    at_risk = watched[..., ::-1].cumsum(axis=-1)[..., ::-1]
    hazard = np.divide(detected, at_risk, out=np.zeros_like(at_risk), where=at_risk > 0)
    later = (1 - hazard).cumprod(axis=-1)  # P(delay > d)
    mean: FloatArray = later[..., :horizon].sum(axis=-1)
    return np.where(at_risk[..., 0] > 0, mean, np.nan)
