"""A loss that looks at alarms: what a family of worlds saves at thresholds its healthy runs set.

A run is stopped when its running maximum M reaches a threshold, here softly: with probability
``sigmoid((M - threshold) / SOFT)``. The threshold of a world is the mean of the highest maxima of
its healthy runs, as many as false alarms are allowed twice over; that of a family is the soft
maximum of those of its worlds. Both move with the network, so that the slopes also say which
healthy runs to push down.
"""

from typing import NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.simulator.truth import BoolArray

SOFT = 0.5
FPR = 0.015


class World(NamedTuple):
    """What a network makes of the runs of one world.

    Parameters
    ----------
    highest : array (n_evals, n_runs)
        Running maximum of the statistic; the last eval of the runs is left out.
    place : int array (n_evals, n_runs)
        The eval that it is from.
    passed : bool array (n_evals, n_runs)
        Whether the peak has passed.
    left : float
        Evals after the peak of all runs, the last one too: what could be saved.
    top : int array (n_top,)
        The healthy runs with the highest maxima.
    threshold : float
        The mean of these.
    """

    highest: FloatArray
    place: IntArray
    passed: BoolArray
    left: float
    top: IntArray
    threshold: float


def see(odds: FloatArray, passed: BoolArray) -> World:
    """Sum up the statistics of the runs of a world ``(n_evals, n_runs)``."""
    highest = np.maximum.accumulate(odds[:-1], axis=0)
    evals = np.arange(len(highest))[:, None]
    place = np.maximum.accumulate(np.where(odds[:-1] == highest, evals, 0), axis=0)
    healthy = np.flatnonzero(~passed[-1])
    n_top = max(1, round(2 * FPR * len(healthy)))
    top = healthy[np.argsort(-highest[-1, healthy], kind="stable")[:n_top]]
    threshold = float(highest[-1, top].mean())
    return World(highest, place, passed[:-1], float(passed.sum()), top, threshold)


def saved(world: World, threshold: float) -> tuple[float, FloatArray]:
    """Give the share saved at a threshold, and its slope by the running maxima.

    Its slope by the threshold is minus the sum of these.
    """
    chance = 1 / (1 + np.exp(np.clip((threshold - world.highest) / SOFT, -30, 30)))
    steep = chance * (1 - chance) / SOFT / world.left
    slope = np.where(world.passed, steep, 0)
    # Who was stopped before the peak saves nothing after it.
    first = world.passed.argmax(axis=0)
    early = np.flatnonzero(first > 0)
    last = first[early] - 1
    after = world.passed[:, early].sum(axis=0)
    slope[last, early] -= after * steep[last, early]
    gained = chance[world.passed].sum() - (after * chance[last, early]).sum()
    return float(gained / world.left), slope


def family_slopes(worlds: list[World], shared: float) -> list[FloatArray]:
    """Give slopes by the statistics of each world ``(n_evals, n_runs)`` of what the family saves.

    Parameters
    ----------
    shared : float
        Weight of what is saved with one threshold, in [0, 1]; the rest is that of own ones.
    """
    heights = np.array([w.threshold for w in worlds])
    shares = np.exp((heights - heights.max()) / SOFT)
    common = heights.max() + SOFT * np.log(shares.sum())
    shares /= shares.sum()
    own = [(1 - shared) * saved(w, w.threshold)[1] for w in worlds]
    one = [shared * saved(w, common)[1] for w in worlds]
    pull = sum(slope.sum() for slope in one)
    slopes = []
    for world, alone, together, share in zip(worlds, own, one, shares, strict=True):
        slope = alone + together
        slope[-1, world.top] -= (alone.sum() + share * pull) / len(world.top)
        told = np.zeros((len(slope) + 1, slope.shape[1]))
        np.add.at(told, (world.place, np.arange(slope.shape[1])[None]), slope)
        slopes.append(told / len(worlds))
    return slopes
