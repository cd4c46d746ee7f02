"""Choose a few linear terms beside the network, by what a rule is for: what its stops save.

Cross-entropy rewards being right about every eval; a stop rule is judged by its first alarm at a
threshold that healthy runs rarely reach, and that may have to hold in several worlds at once. So
weights for some features are searched that make the statistic save most in worlds drawn for this:
single ones, with their own threshold and with that of flat noise, and families that share one. None
of these runs was trained on, none is used to validate or to rank.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalstop.benchmarks.matched import matched_threshold
from evalstop.detectors.observation import FloatArray
from evalstop.studies.learning.examples import features_over_time
from evalstop.studies.learning.network import LEAK, Array
from evalstop.studies.learning.shapes import Curves, RandomWorld, random_world

FPR, FLAT_FPR = 0.015, 0.05
RUNS = 1600
SINGLES, FAMILIES, LONGEST = 36, 8, 30


class Cell(NamedTuple):
    """Runs of one world: output of the network and some features ``(n_runs, n_evals, ...)``."""

    odds: FloatArray
    terms: NDArray[np.float32]
    peak: FloatArray


class Saved(NamedTuple):
    """Mean shares saved.

    Parameters
    ----------
    singles, own, shared : share
        In single worlds, in families with a threshold per world, in families with one threshold.
    flat : share
        In single worlds with the threshold of flat noise, less twice what the share of false alarms
        is above the promised one.
    """

    singles: float
    own: float
    shared: float
    flat: float

    @property
    def value(self) -> float:
        """What the search maximises."""
        return self.singles + self.own / 2 + self.shared + self.flat


def worlds(seed: int, *, flat: float = 0.0) -> list[list[RandomWorld]]:
    """Draw single worlds (lists of one) and families that differ in noise, shape and length."""
    singles = [
        random_world(np.random.default_rng([seed, i]), gao=0.3, flat=flat) for i in range(SINGLES)
    ]
    singles = [
        replace(w, n_evals=min(w.n_evals, LONGEST), from_start=min(w.from_start, 0.1))
        for w in singles
    ]
    return [*([w] for w in singles), *(family(seed, i, flat=flat > 0) for i in range(FAMILIES))]


def family(seed: int, number: int, *, flat: bool) -> list[RandomWorld]:
    """Draw a world and variants of it; every other family follows Gao's law."""
    rng = np.random.default_rng([seed, 1000, number])
    first = rng.uniform(0.15, 0.4)
    base = replace(
        random_world(rng, gao=0),
        n_evals=int(rng.choice((10, 15, 20, 30))),
        gao=float(number % 2),
        gain=(0.7, 1.0),
        relative=False,
        sigma=(0.03, 0.03),
        rho=(0.0, 0.0),
        spikes=0.0,
        tail=np.inf,
        start=(0.0, 0.0),
        peak=(first, first + 0.4),
        lost=(0.2, 0.6),
        from_start=0.0,
        plateau=0.0,
        dip=0.0,
        second=0.0,
        flat=0.0,
    )
    return [
        *(replace(base, sigma=(s, s)) for s in (0.01, 0.03, 0.06, 0.12)),
        replace(base, plateau=1.0, knee=(0.2, 0.8)),
        *([replace(base, gao=0.0, flat=0.5)] if flat else []),
        replace(base, rho=(0.4, 0.4)),
        replace(base, gao=0.0, dip=1.0, depth=(0.05, 0.15)),
        replace(base, peak=(0.6, 0.85)),
        replace(base, spikes=0.1),
        replace(base, sigma=(0.01, 0.12)),
        replace(base, n_evals=10 if number % 4 else 8),
        replace(base, tail=4.0),
    ]


def draw_cells(
    groups: Sequence[Sequence[RandomWorld]],
    layers: list[Array],
    columns: NDArray[np.int64],
    terms: NDArray[np.int64],
    seed: int,
) -> list[list[Cell]]:
    """Draw runs of all worlds and let the network judge them."""
    return [
        [
            judge(world.draw(np.random.default_rng([seed, i, j]), RUNS), layers, columns, terms)
            for j, world in enumerate(group)
        ]
        for i, group in enumerate(groups)
    ]


def flat_noise(seed: int) -> Curves:
    """Draw curves that never move."""
    score = 0.5 + 0.03 * np.random.default_rng([seed, 2000]).standard_normal((RUNS, LONGEST))
    return Curves(score, np.full(RUNS, np.inf))


def judge(
    curves: Curves, layers: list[Array], columns: NDArray[np.int64], terms: NDArray[np.int64]
) -> Cell:
    """Let the network judge runs."""
    read = features_over_time(curves.score)
    odds = output(layers, read[:, :, columns].astype(np.float32)).T.astype(float)
    chosen = read[:, :, terms].astype(np.float32).transpose(1, 0, 2)
    return Cell(odds, np.ascontiguousarray(chosen), curves.peak)


def output(layers: list[Array], x: Array) -> Array:
    """Give the output of a network for features on the last axis."""
    for i in range(0, len(layers), 2):
        x = x @ layers[i] + layers[i + 1]
        if i + 2 < len(layers):
            x = np.maximum(x, LEAK * x)
    return x[..., 0]


def saved(cells: list[list[Cell]], flat: Cell | None, weights: FloatArray) -> Saved:
    """Judge the statistic with terms of these weights; `flat` if it knows no scale."""
    singles, own, shared, promised = [], [], [], []
    if flat is not None:
        highest = np.maximum.accumulate(_statistics(flat, weights), axis=1)
    for group in cells:
        statistics = [_statistics(c, weights)[:, :-1] for c in group]
        thresholds = [
            matched_threshold(s[np.isinf(c.peak)].max(axis=1), FPR)
            for s, c in zip(statistics, group, strict=True)
        ]
        pairs = list(zip(group, statistics, strict=True))
        each = np.mean([_saved(c, s, t) for (c, s), t in zip(pairs, thresholds, strict=True)])
        if len(group) == 1:
            singles.append(each)
            if flat is not None:
                (cell,), (values,) = group, statistics
                threshold = matched_threshold(highest[:, values.shape[1] - 1], FLAT_FPR)
                false = (values[np.isinf(cell.peak)] >= threshold).any(axis=1).mean()
                promised.append(_saved(cell, values, threshold) - 2 * max(0, false - FLAT_FPR))
        else:
            own.append(each)
            shared.append(np.mean([_saved(c, s, max(thresholds)) for c, s in pairs]))
    return Saved(
        float(np.mean(singles)),
        float(np.mean(own)),
        float(np.mean(shared)),
        float(np.mean(promised or 0)),
    )


def _statistics(cell: Cell, weights: FloatArray) -> FloatArray:
    """Give the statistic from the second eval on."""
    statistics: FloatArray = (cell.odds + cell.terms @ weights.astype(np.float32))[:, 1:]
    return statistics


def _saved(cell: Cell, statistics: FloatArray, threshold: float) -> float:
    """Give the share saved; `statistics` begin at the second eval and end before the last."""
    hacking = np.isfinite(cell.peak)
    peak, alarms = cell.peak[hacking], statistics[hacking] >= threshold
    stop = (alarms.argmax(axis=1) + 2) / (statistics.shape[1] + 2)
    counts = alarms.any(axis=1) & (stop >= peak)
    return float(np.where(counts, 1 - stop, 0).sum() / (1 - peak).sum())


def search(
    cells: list[list[Cell]], flat: Cell | None, n: int, seed: int, generations: int
) -> FloatArray:
    """Search `n` weights by a (4, 10) evolution strategy with one step size for each weight."""
    rng = np.random.default_rng(seed)
    share = np.log(4.5) - np.log(np.arange(1, 5))
    share /= share.sum()
    mean, steps = np.zeros(n), np.full(n, 0.15)
    best, best_value = mean, saved(cells, flat, mean).value
    for _ in range(generations):
        tried = mean + steps * rng.standard_normal((10, n))
        values = np.array([saved(cells, flat, weights).value for weights in tried])
        chosen = tried[np.argsort(-values)[:4]]
        mean = share @ chosen
        steps = np.sqrt(0.7 * steps**2 + 0.3 * (share @ (chosen - mean) ** 2)) * 1.02
        steps = np.maximum(steps, 0.01)
        value = saved(cells, flat, mean).value
        if value > best_value:
            best, best_value = mean, value
    return best
