"""What is learned from: the features of a run after each eval, and whether its peak has passed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.features import features, no_memory, remember
from evalstop.detectors.observation import FloatArray
from evalstop.studies.learning.shapes import random_world


class Examples(NamedTuple):
    """One row for each eval of each run, its first left out.

    Parameters
    ----------
    read : half-precision array (n, n_features)
        Scale-free features, then unit-scale ones.
    passed : array (n,)
        1 from the first eval at or after the true peak on, else 0.
    world : int array (n,)
        Which random world the run is from.
    weight : array (n,)
        Long runs count for more than short ones, but not in proportion.
    """

    read: NDArray[np.float16]
    passed: NDArray[np.float32]
    world: NDArray[np.int32]
    weight: NDArray[np.float32]


def features_over_time(score: FloatArray) -> NDArray[np.float16]:
    """Give the features after each eval: ``(n_runs, n_evals) -> (n_evals, n_runs, n_features)``."""
    memory, told = no_memory(len(score)), []
    for column in np.ascontiguousarray(score.T):
        memory = remember(memory, column)
        told.append(np.concatenate(features(memory)).T.astype(np.float16))
    return np.stack(told)


def draw_examples(
    seed: int, n_worlds: int, runs: int, *, gao: float, flat: float = 0.0
) -> Examples:
    """Draw `runs` runs from each of so many random worlds (`gao`, `flat`: see `random_world`)."""
    parts = []
    for number in range(n_worlds):
        rng = np.random.default_rng([seed, number])
        world = random_world(rng, gao=gao, flat=flat)
        curves = world.draw(rng, runs)
        read = features_over_time(curves.score)[1:]
        progress = np.arange(2, world.n_evals + 1)[:, None] / world.n_evals
        n = len(read) * runs
        parts.append(
            Examples(
                read.reshape(n, -1),
                (progress >= curves.peak).ravel().astype(np.float32),
                np.full(n, number, np.int32),
                np.full(n, world.n_evals**-0.5, np.float32),
            )
        )
    return Examples(*(np.concatenate(column) for column in zip(*parts, strict=True)))
