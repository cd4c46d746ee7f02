"""Healthy setbacks: the score falls for an eval or two and recovers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.laws import FALLS
from evalstop.simulator.worlds.rise_fall import RiseFall
from evalstop.simulator.worlds.world import between


@dataclass(frozen=True)
class Dips(RiseFall):
    """Every run has one passing dip on its way up: a fall is not yet a peak.

    The score is lowered by `depth` of itself around a moment at .2 to .4 of the run, over about a
    fifth of it. Hacking runs dip by the same law before their peak, so nothing leaks early.

    Parameters
    ----------
    depth : (float, float)
        Range of the depth of the dip, as a share of the score, in [0, 1].
    """

    name: ClassVar[str] = "dips"
    fall: str = setting("gao", choices=tuple(FALLS), doc="law of the fall")
    peak: tuple[float, ...] = setting((0.6, 0.8), unit="progress", doc="range of the peak")
    depth: tuple[float, ...] = setting((0.2, 0.6), doc="range of the depth of the dip")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_range("depth", 0, 1)

    def rising(self, rng: np.random.Generator, progress: FloatArray) -> FloatArray:
        """Rise, less a bell around the moment of the dip."""
        depth, moment = (between(rng, b, len(progress)) for b in (self.depth, (0.2, 0.4)))
        bell = np.exp(-0.5 * ((progress - moment) / 0.08) ** 2)
        return super().rising(rng, progress) * (1 - depth * bell)
