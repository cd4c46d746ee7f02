"""The common case: a score that rises by one law, in hacking runs only up to a peak."""

from dataclasses import dataclass

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.laws import FALLS, RISES
from evalstop.simulator.worlds.world import Shapes, World, between


@dataclass(frozen=True)
class RiseFall(World):
    """Healthy runs rise to the end; hacking runs rise by the same law to a peak, then fall.

    Up to its peak a hacking run is one more healthy run, with its own parameters: nothing leaks the
    label early. After its peak p* its true score is that of the peak times
    ``1 - (1 - end) fall(p, p*)``, fall going from 0 at the peak to 1 at the end of the run.

    Parameters
    ----------
    rise : {"exponential", "power", "logarithmic"}
        Law of the rise.
    fall : {"quadratic", "straight", "step", "gao"}
        Law of the fall.
    peak : (float, float)
        Range of the progress of the peak, in [0, 1).
    end : (float, float)
        Range of the score at the end, as a share of the score at the peak.
    """

    rise: str = setting("exponential", choices=tuple(RISES), doc="law of the rise")
    fall: str = setting("quadratic", choices=tuple(FALLS), doc="law of the fall")
    peak: tuple[float, ...] = setting((0.55, 0.75), unit="progress", doc="range of the peak")
    end: tuple[float, ...] = setting((0.45, 0.65), doc="range of the end, in units of the peak")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_range("peak", 0, 0.999)
        self.check_range("end", 0, 1)

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Rise to the peak, which is the end in healthy runs, and fall from there."""
        peak, end = between(rng, self.peak, len(hacking)), between(rng, self.end, len(hacking))
        falls = hacking[:, None]
        score = self.rising(rng, np.where(falls, np.minimum(progress, peak), progress))
        score *= np.where(falls, 1 - (1 - end) * FALLS[self.fall](progress, peak), 1)
        return Shapes(score, np.where(hacking, peak[:, 0], np.nan))

    def rising(self, rng: np.random.Generator, progress: FloatArray) -> FloatArray:
        """Give the law of runs that do not fall, from 0 at progress 0 to 1 at progress 1."""
        law, rates = RISES[self.rise]
        return law(progress, between(rng, rates, len(progress)))
