"""What is learned from: the features of a run after each eval, and whether its peak has passed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.features import features, no_memory, remember
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.simulator.truth import BoolArray
from evalstop.studies.learning.shapes import RandomWorld, random_family


class Examples(NamedTuple):
    """One row for each eval of each run, its first left out: by world, then eval, then run.

    Parameters
    ----------
    read : half-precision array (n, n_features)
        Scale-free features, then unit-scale ones.
    passed : bool array (n,)
        Whether the true peak has passed.
    starts : int array (n_worlds + 1,)
        Where the rows of each world begin; the worlds of a family are neighbours.
    runs, size : int
        Runs of each world, worlds of each family.
    """

    read: NDArray[np.float16]
    passed: BoolArray
    starts: IntArray
    runs: int
    size: int

    @property
    def families(self) -> int:
        """How many families there are."""
        return (len(self.starts) - 1) // self.size


def features_over_time(score: FloatArray) -> NDArray[np.float16]:
    """Give the features after each eval: ``(n_runs, n_evals) -> (n_evals, n_runs, n_features)``."""
    memory, told = no_memory(len(score)), []
    for column in np.ascontiguousarray(score.T):
        memory = remember(memory, column)
        told.append(np.concatenate(features(memory)).T.astype(np.float16))
    return np.stack(told)


def draw_examples(seed: int, families: int, size: int, runs: int) -> Examples:
    """Draw `runs` runs from each world of families of `size`."""
    rngs = [np.random.default_rng([seed, number]) for number in range(families)]
    drawn = [(rng, world) for rng in rngs for world in random_family(rng, size)]
    starts = np.cumsum([0, *(runs * (world.n_evals - 1) for _, world in drawn)])
    read: NDArray[np.float16] | None = None
    passed = np.empty(starts[-1], np.bool_)
    for (rng, world), first, last in zip(drawn, starts[:-1], starts[1:], strict=True):
        seen, passes = _examples(rng, world, runs)
        if read is None:  # one array from the start: there is no room for two
            read = np.empty((starts[-1], seen.shape[-1]), np.float16)
        read[first:last] = seen.reshape(last - first, -1)
        passed[first:last] = passes.ravel()
    assert read is not None
    return Examples(read, passed, starts, runs, size)


def _examples(
    rng: np.random.Generator, world: RandomWorld, runs: int
) -> tuple[NDArray[np.float16], BoolArray]:
    curves = world.draw(rng, runs)
    progress = np.arange(2, world.n_evals + 1)[:, None] / world.n_evals
    return features_over_time(curves.score)[1:], progress >= curves.peak
