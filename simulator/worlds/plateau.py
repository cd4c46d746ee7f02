"""Healthy runs that stop improving where others would turn."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.laws import gao
from evalstop.simulator.worlds.world import Shapes, World, between


@dataclass(frozen=True)
class Plateau(World):
    """Gao's RL law up to its peak, where hacking runs turn down and healthy ones stay flat.

    The law is z (1 - ln z), z = p/p*, in units of the peak, p* ~ U(.4, .7) in both: the later the
    peak, the shallower the fall. The law before the peak is the same, so nothing leaks early.

    Parameters
    ----------
    peak : (float, float)
        Range of the progress of the peak, or of the beginning of the plateau, in (0, 1).
    """

    name: ClassVar[str] = "plateau"
    peak: tuple[float, ...] = setting((0.4, 0.7), unit="progress", doc="range of the peak")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_range("peak", 1e-3, 0.999)

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Follow the law, in healthy runs up to its peak."""
        peak = between(rng, self.peak, len(hacking))
        ratio = progress / peak
        score = gao(np.where(hacking[:, None], ratio, np.minimum(ratio, 1)))
        return Shapes(score, np.where(hacking, peak[:, 0], np.nan))
