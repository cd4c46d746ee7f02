"""All shapes at once, with noise that nobody states."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.cliff import Cliff
from evalstop.simulator.worlds.dips import Dips
from evalstop.simulator.worlds.gao_law import GaoLaw
from evalstop.simulator.worlds.late_peak import LatePeak
from evalstop.simulator.worlds.mixture import mixed_shapes
from evalstop.simulator.worlds.paper import Paper
from evalstop.simulator.worlds.plateau import Plateau
from evalstop.simulator.worlds.plateau_then_decline import PlateauThenDecline
from evalstop.simulator.worlds.slow_decline import SlowDecline
from evalstop.simulator.worlds.triangle import Triangle
from evalstop.simulator.worlds.world import Shapes, World

PARTS = tuple(
    part()
    for part in (
        Paper,
        GaoLaw,
        Plateau,
        Dips,
        LatePeak,
        SlowDecline,
        Triangle,
        Cliff,
        PlateauThenDecline,
    )
)


@dataclass(frozen=True)
class Wild(World):
    """A mixture of nine shapes, and every run has its own noise: from sigma/3 to 4 sigma.

    The logarithm of a run's noise is uniform (.01 to .12 by default). Labels leak before the peak
    only through the ninth of the runs that comes from `gao-law`.
    """

    name: ClassVar[str] = "wild"
    sigma: float = setting(
        0.03, low=0, high=1e3, unit="score", doc="noise is drawn from sigma/3 to 4 sigma"
    )

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Take each run from one of the nine worlds, all alike in share."""
        share = 1 / len(PARTS)
        return mixed_shapes(rng, progress, hacking, [(part, share, share) for part in PARTS])

    def noise_sd(
        self,
        rng: np.random.Generator,
        shape: FloatArray,
        gain: FloatArray,
    ) -> FloatArray:
        """Draw the noise of each run."""
        return self.sigma * np.exp(rng.uniform(np.log(1 / 3), np.log(4), (len(shape), 1)))
