"""Training that does nothing: flat curves, of which some fall in the end."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.simulator.worlds.rise_fall import RiseFall


@dataclass(frozen=True)
class NeverImproves(RiseFall):
    """No run ever improves: healthy ones stay flat, hacking ones are flat up to p*, then fall.

    The worst case for rules that count declines: noise alone makes them. `rise` has no effect. The
    law before the peak is the same in both; the true peak is the last moment of the flat part.
    """

    name: ClassVar[str] = "never-improves"

    def rising(self, rng: np.random.Generator, progress: FloatArray) -> FloatArray:
        """Stay where training began."""
        return np.ones_like(progress)
