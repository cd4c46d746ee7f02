"""Training that does harm from its first step."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.laws import FALLS
from evalstop.simulator.worlds.rise_fall import RiseFall


@dataclass(frozen=True)
class HurtsFromStart(RiseFall):
    """Hacking runs fall from the very start: their true peak is at progress 0.

    All runs start at half of their gain; healthy ones rise from there. There is no time before the
    peak in which a label could leak.
    """

    name: ClassVar[str] = "hurts-from-start"
    fall: str = setting("straight", choices=tuple(FALLS), doc="law of the fall")
    peak: tuple[float, ...] = setting((0.0,), unit="progress", doc="range of the peak")

    def rising(self, rng: np.random.Generator, progress: FloatArray) -> FloatArray:
        """Rise from one half to 1."""
        return (1 + super().rising(rng, progress)) / 2
