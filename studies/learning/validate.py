"""What a statistic saves in worlds drawn for this, which none of its weights was chosen on.

Single worlds with a threshold of their own and with that of flat noise, and families with one
threshold for each world or one for all. A statistic is judged as a stop rule is: by its first alarm
at a threshold that healthy runs rarely reach.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evalstop.benchmarks.matched import matched_threshold
from evalstop.detectors.observation import FloatArray
from evalstop.studies.learning.shapes import RandomWorld, random_world, siblings

FPR, FLAT_FPR = 0.015, 0.05
RUNS = 1600
SINGLES, FAMILIES, LONGEST = 36, 8, 30

# Scores (n_runs, n_evals) in, statistics of the same shape out.
Judge = Callable[[FloatArray], FloatArray]


class Saved(NamedTuple):
    """Mean shares.

    Parameters
    ----------
    singles, own, shared : share
        Saved in single worlds, in families with a threshold per world and with one threshold.
    flat, false : share
        Saved, and false alarms, in single worlds with the threshold of flat noise for `FLAT_FPR`.
    """

    singles: float
    own: float
    shared: float
    flat: float
    false: float


def worlds(seed: int) -> list[list[RandomWorld]]:
    """Draw single worlds (lists of one) and families that differ in noise, shape and length."""
    rngs = [np.random.default_rng([seed, i]) for i in range(SINGLES)]
    singles = [random_world(rng, gao=0.3, flat=0.15) for rng in rngs]
    singles = [
        replace(w, n_evals=min(w.n_evals, LONGEST), from_start=min(w.from_start, 0.1))
        for w in singles
    ]
    families = [siblings(np.random.default_rng([seed, 1000, i])) for i in range(FAMILIES)]
    return [*([w] for w in singles), *families]


def validate(judge: Judge, groups: Sequence[Sequence[RandomWorld]], seed: int) -> Saved:
    """Judge a statistic on runs of single worlds and of families."""
    flat = 0.5 + 0.03 * np.random.default_rng([seed, 2000]).standard_normal((RUNS, LONGEST))
    highest = np.maximum.accumulate(judge(flat)[:, 1:], axis=1)
    singles, own, shared, promised, false = [], [], [], [], []
    for i, group in enumerate(groups):
        drawn = [
            world.draw(np.random.default_rng([seed, i, j]), RUNS) for j, world in enumerate(group)
        ]
        # The first eval has no statistic, an alarm at the last one counts for nothing.
        judged = [(judge(curves.score)[:, 1:-1], curves.peak) for curves in drawn]
        tops = [s[np.isinf(peak)].max(axis=1) for s, peak in judged]
        thresholds = [matched_threshold(top, FPR) for top in tops]
        each = [_saved(*told, t) for told, t in zip(judged, thresholds, strict=True)]
        if len(group) > 1:
            own.append(np.mean(each))
            shared.append(np.mean([_saved(*told, max(thresholds)) for told in judged]))
            continue
        singles.append(each[0])
        threshold = matched_threshold(highest[:, judged[0][0].shape[1] - 1], FLAT_FPR)
        promised.append(_saved(*judged[0], threshold))
        false.append((tops[0] >= threshold).mean())
    return Saved(*(float(np.mean(told)) for told in (singles, own, shared, promised, false)))


def _saved(statistics: FloatArray, peak: FloatArray, threshold: float) -> float:
    """Give the share saved; `statistics` begin at the second eval and end before the last."""
    hacking = np.isfinite(peak)
    ends, alarms = peak[hacking], statistics[hacking] >= threshold
    stop = (alarms.argmax(axis=1) + 2) / (statistics.shape[1] + 2)
    counts = alarms.any(axis=1) & (stop >= ends)
    return float(np.where(counts, 1 - stop, 0).sum() / (1 - ends).sum())
