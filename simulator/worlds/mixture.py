"""Worlds of several shapes: every run is drawn from one of a few other worlds."""

from collections.abc import Sequence

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.world import Shapes, World


def mixed_shapes(
    rng: np.random.Generator,
    progress: FloatArray,
    hacking: BoolArray,
    parts: Sequence[tuple[World, float, float]],
) -> Shapes:
    """Draw a world for each run and take the shape from it.

    Parameters
    ----------
    rng, progress, hacking
        As in `World.shapes`.
    parts : sequence of (World, float, float)
        A world, its share of the healthy runs, its share of the hacking runs; each sums to 1.
    """
    shares = np.array([(healthy, hacks) for _, healthy, hacks in parts]).cumsum(axis=0)
    dice = rng.random(len(hacking))
    part = np.where(
        hacking, np.searchsorted(shares[:, 1], dice), np.searchsorted(shares[:, 0], dice)
    )
    mixed = Shapes(np.empty(progress.shape), np.full(len(hacking), np.nan))
    for i, (world, _, _) in enumerate(parts):
        rows = np.minimum(part, len(parts) - 1) == i
        mixed.score[rows], mixed.peak[rows] = world.shapes(rng, progress[rows], hacking[rows])
    return mixed
