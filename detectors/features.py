"""Causal features of a curve, for rules that are learned.

A recurrence with bounded memory: smoothed scores at several weights with their best so far, the
last `WINDOW` scores, sums for the noise. Before its first eval a run is taken to have stood still.

Every feature is location-free and compressed to (-LIMIT, LIMIT) by ``v / (1 + |v| / LIMIT)``, so
that a wild score cannot lead a rule far from what it was trained on. Distances are given over the
estimated noise and over the range so far (*scale-free*), and over `UNIT` (*unit-scale*: for scores
in [0, 1]).
"""

from typing import NamedTuple

import numpy as np

from evalstop.detectors.noise import NoiseState, add_noise, no_noise, noise_of
from evalstop.detectors.observation import FloatArray

WEIGHTS = (0.08, 0.15, 0.3, 0.5, 0.75, 1.0)
WINDOW = 12
SLOPES = (3, 4, 5, 6, 8, 10, 12)
RANKED = (4, 6, 8, 12)
UNIT = 0.05
LIMIT = 8.0
LONGEST = 64.0  # evals; a longer run looks like one of this length


class Memory(NamedTuple):
    """What is remembered of each run: leading axis = runs.

    Noise sums, last scores (newest first), smoothed scores, their best, evals since each of these,
    lowest score and consecutive declines.
    """

    noise: NoiseState
    window: FloatArray
    smooth: FloatArray
    best: FloatArray
    since: FloatArray
    lowest: FloatArray
    declines: FloatArray


def no_memory(n_runs: int) -> Memory:
    """Start without a score."""
    zeros = np.zeros((n_runs, WINDOW))
    k = len(WEIGHTS)
    smooth, best = np.zeros((n_runs, k)), np.full((n_runs, k), -np.inf)
    lowest, declines = np.full(n_runs, np.inf), np.zeros(n_runs)
    return Memory(no_noise(n_runs), zeros, smooth, best, np.zeros((n_runs, k)), lowest, declines)


def remember(memory: Memory, score: FloatArray) -> Memory:
    """Take one eval."""
    column = score[:, None]
    new = (memory.noise.n_seen == 0)[:, None]
    window = np.where(new, column, np.roll(memory.window, 1, axis=1))
    window[:, 0] = score
    weights = np.array(WEIGHTS)
    smooth = np.where(new, column, (1 - weights) * memory.smooth + weights * column)
    return Memory(
        add_noise(memory.noise, score),
        window,
        smooth,
        np.maximum(memory.best, smooth),
        np.where(smooth > memory.best, 0, memory.since + 1),
        np.minimum(memory.lowest, score),
        np.where(score < window[:, 1], memory.declines + 1, 0),
    )


def features(memory: Memory) -> tuple[FloatArray, FloatArray]:
    """Give the scale-free and the unit-scale features: ``(n_features, n_runs)`` each."""
    free, unit = (_compress(np.concatenate(list(part.values()))) for part in _groups(memory))
    return free, unit


def _groups(memory: Memory) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Give the features by name, not yet compressed."""
    sigma, spread = noise_of(memory.noise), memory.best[:, -1] - memory.lowest
    window, smooth, seen = memory.window.T, memory.smooth.T, memory.noise.n_seen
    falls = (memory.best - memory.smooth).T
    steps = window[1:7] - window[:6]
    slopes = _slopes(window)
    steepest = slopes.max(axis=0)[None]
    trends = smooth[:-1] - smooth[1:]
    # How far even the best of the last few scores is below the best of all.
    topped = memory.best[:, -1] - np.maximum.accumulate(window, axis=0)[[1, 2, 3, 5]]
    bends = np.abs(window[2:] - 2 * window[1:-1] + window[:-2])
    typical = np.sort(bends, axis=0)[WINDOW // 2 - 1] / 1.65  # noise by a median
    first = np.sqrt(memory.noise.first / np.maximum(seen - 1, 1))
    since = np.minimum(memory.since.T, LONGEST)
    course = [
        2 * np.log(np.minimum(seen, LONGEST)),
        memory.since[:, -1] / seen * 4,
        memory.declines,
        _over(sigma, spread) * 8,
        _over(typical, sigma) * 2,
        _over(first, sigma),
        _over(window[0] - memory.lowest, spread) * 4,
    ]
    free = {
        "falls/sigma": _over(falls, sigma),
        "falls/spread": _over(falls[:4], spread) * 4,
        "steps/sigma": _over(steps, sigma),
        "slopes/sigma": _over(slopes, sigma),
        "steepest/sigma": _over(steepest, sigma),
        "trends/sigma": _over(trends, sigma),
        "topped/sigma": _over(topped, sigma),
        "ranks": _rank_trends(window),
        "since": 2 * np.log1p(since),
        "course": np.stack(course),
    }
    unit = {
        "falls": falls / UNIT,
        "steps": steps / UNIT,
        "steepest": steepest / UNIT,
        "slopes": slopes[::2] / UNIT,
        "trends": trends / UNIT,
        "topped": topped / UNIT,
        "scale": np.stack([spread / (4 * UNIT), np.log(np.maximum(sigma, 1e-3) / UNIT) * 2]),
    }
    return free, unit


def _slopes(window: FloatArray) -> FloatArray:
    """Give the least-squares decline of each window of `SLOPES`, of noise 1 on flat noise."""
    back = window - window[0]
    ages = np.arange(float(len(back)))[:, None]
    sums, moments = back.cumsum(axis=0), (ages * back).cumsum(axis=0)
    m = np.array(SLOPES, dtype=float)[:, None]
    rows = np.array(SLOPES) - 1
    declines: FloatArray = (moments[rows] - (m - 1) / 2 * sums[rows]) / np.sqrt(m * (m**2 - 1) / 12)
    return declines


def _rank_trends(window: FloatArray) -> FloatArray:
    """Give Mann-Kendall's decline of the windows of `RANKED`, of variance 1 on flat noise."""
    falls = np.zeros(window.shape)
    for lag in range(1, len(window)):
        falls[lag:] += np.sign(window[lag:] - window[:-lag])
    m = np.array(RANKED, dtype=float)[:, None]
    sd = np.sqrt(m * (m - 1) * (2 * m + 5) / 18)
    trends: FloatArray = falls.cumsum(axis=0)[np.array(RANKED) - 1] / sd
    return trends


def _over(value: FloatArray, scale: FloatArray) -> FloatArray:
    return value / np.where(scale > 0, scale, np.inf)


def _compress(values: FloatArray) -> FloatArray:
    compressed: FloatArray = values / (1 + np.abs(values) / LIMIT)
    return compressed
