"""Runs that converge, stay there, and some then fall."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.rise_fall import RiseFall
from evalstop.simulator.worlds.world import between


@dataclass(frozen=True)
class PlateauThenDecline(RiseFall):
    """All runs converge early and stay flat; hacking runs fall after a while.

    The true peak is the last moment of the plateau. The law before it is the same in both.

    Parameters
    ----------
    knee : (float, float)
        Range of the progress at which the plateau begins, in (0, 1].
    """

    name: ClassVar[str] = "plateau-then-decline"
    knee: tuple[float, ...] = setting((0.2, 0.45), unit="progress", doc="begin of the plateau")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_range("knee", 1e-3, 1)

    def rising(self, rng: np.random.Generator, progress: FloatArray) -> FloatArray:
        """Rise within the time up to the knee."""
        knee = between(rng, self.knee, len(progress))
        return super().rising(rng, np.minimum(progress / knee, 1))
