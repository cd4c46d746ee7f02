"""Gao's RL law with peaks drawn freely instead of through reward-model sizes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.laws import gao
from evalstop.simulator.worlds.world import Shapes, World, between


@dataclass(frozen=True)
class GaoLaw(World):
    """Gao's RL law z (1 - ln z), z = p/p*, in all runs; healthy ones end before their peak.

    Hacking runs peak at .2 to .6 of the run, healthy ones would at 1 to 2 times its length: this
    world is about the law, and **the law leaks some of the label before the peak** (a run bends the
    sooner, the sooner it peaks). Early peaks fall deep, below where the run began.

    Parameters
    ----------
    peak : (float, float)
        Range of the progress of the peak of hacking runs, in (0, 1).
    healthy_peak : (float, float)
        Range of the progress at which healthy runs would peak, at least 1.
    """

    name: ClassVar[str] = "gao-law"
    peak: tuple[float, ...] = setting((0.2, 0.6), unit="progress", doc="range of the peak")
    healthy_peak: tuple[float, ...] = setting(
        (1.0, 2.0), unit="progress", doc="range of the peak that healthy runs do not reach"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_range("peak", 1e-3, 0.999)
        self.check_range("healthy_peak", 1, 1e3)

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Follow the law in units of each run's own peak."""
        n_runs = len(hacking)
        peak, later = between(rng, self.peak, n_runs), between(rng, self.healthy_peak, n_runs)
        score = gao(progress / np.where(hacking[:, None], peak, later))
        return Shapes(score, np.where(hacking, peak[:, 0], np.nan))
