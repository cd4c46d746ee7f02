"""Curves as noisy, short and ragged as those of real post-training runs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.settings import setting
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.hurts_from_start import HurtsFromStart
from evalstop.simulator.worlds.mixture import mixed_shapes
from evalstop.simulator.worlds.paper import Paper
from evalstop.simulator.worlds.plateau_then_decline import PlateauThenDecline
from evalstop.simulator.worlds.world import Shapes, World

# Noise of real runs over the range of their curves, at the quartiles; the ends are ours.
SHARES, RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.02, 0.13, 0.38, 0.60, 1.0)
SHORTEST, LONGEST = 6, 17
# A curve that stays where it is still has noise: as if it had this share of its gain as range.
SMALLEST_RANGE = 0.1

PEAKS = (0.25, 0.8)
SHAPES = (
    (PlateauThenDecline(peak=(0.5, 0.8)), 0.7, 0.35),
    (Paper(peak=PEAKS), 0.3, 0.15),
    (HurtsFromStart(), 0.0, 0.5),
)


@dataclass(frozen=True)
class RealNoise(World):
    """Noise, lengths and shapes as on real post-training runs (GRPO, DPO).

    Noise over the range of the true curve has median .38 and quartiles .13 and .60, its successive
    values correlate by .1 to .3, runs have 6 to 17 evals (most of them few). Most healthy runs
    reach a plateau, half of the hacking runs fall from the very start. The other half rises by the
    law of the healthy runs, so before its peak nothing leaks the label.

    Parameters
    ----------
    n : int
        Evals of the longest run; the shortest has about a third.
    sigma : float
        Median of the noise over the range of the true curve (*not* in units of the score).
    """

    name: ClassVar[str] = "real-noise"
    n: int = setting(LONGEST, low=1, high=100_000, unit="evals", doc="evals of the longest run")
    sigma: float = setting(
        0.38, low=0, high=1e3, unit="range", doc="median of noise over range of a curve"
    )
    amplitude: tuple[float, ...] = setting((0.05, 0.5), unit="score", doc="range of a run's gain")
    rho: tuple[float, ...] = setting((0.1, 0.3), doc="range of the correlation of successive evals")

    def lengths(self, rng: np.random.Generator, n_runs: int) -> IntArray:
        """Draw how many evals each run has, short runs being the most common."""
        shortest = max(1, round(self.n * SHORTEST / LONGEST))
        more = (self.n + 1 - shortest) * rng.random(n_runs) ** 2.3
        return shortest + more.astype(np.int64)

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Take each run from one of three worlds."""
        return mixed_shapes(rng, progress, hacking, SHAPES)

    def noise_sd(self, rng: np.random.Generator, shape: FloatArray, gain: FloatArray) -> FloatArray:
        """Draw noise over range, scale it by the range of the true curve."""
        ratio = np.interp(rng.random((len(shape), 1)), SHARES, RATIOS) * self.sigma / RATIOS[2]
        spread: FloatArray = np.ptp(shape, axis=1, keepdims=True)
        return ratio * gain * np.maximum(spread, SMALLEST_RANGE)
