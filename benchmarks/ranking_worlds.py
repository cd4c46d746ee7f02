"""The worlds of the three rankings: frozen, never to be changed, so that ranks can be compared.

The rankings were first stated in words, with the scores of a few rules. Where the words leave a
range open (peaks, depths, gains) it is the one that gives those rules about those scores.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.cliff import Cliff
from evalstop.simulator.worlds.laws import gao, gao_fall
from evalstop.simulator.worlds.paper import Paper
from evalstop.simulator.worlds.plateau_then_decline import PlateauThenDecline
from evalstop.simulator.worlds.triangle import Triangle
from evalstop.simulator.worlds.world import Shapes, World, between


@dataclass(frozen=True)
class GaoFamily(World):
    """Runs by Gao's law z (1 - ln z), z = progress / peak; healthy ones peak after their end.

    Parameters
    ----------
    peak, later : (float, float)
        Range of the progress of the peak in hacking and in healthy runs.
    stays : bool
        Healthy runs have the peaks of the hacking ones, and stay there.
    dip : (float, float)
        Depth of a passing dip on the way up, over the score.
    end : (float, float)
        Score at the end of hacking runs, over that at the peak; (0, 0) = as the law has it.
    spread : (float, float)
        The noise of a run is `sigma` times a log-uniform number in this range.
    """

    name: ClassVar[str] = "gao-family"
    n: int = setting(20, low=2, unit="evals", doc="evals of a run")
    peak: tuple[float, ...] = setting((0.2, 0.6), unit="progress", doc="peak of hacking runs")
    later: tuple[float, ...] = setting((1.0, 1.3), unit="progress", doc="peak of healthy runs")
    stays: bool = setting(False, doc="healthy runs stay at their peak")
    dip: tuple[float, ...] = setting((0.0, 0.0), doc="depth of a passing dip")
    end: tuple[float, ...] = setting((0.0, 0.0), doc="end over peak, 0,0 = as the law has it")
    spread: tuple[float, ...] = setting((1.0, 1.0), doc="range of a run's noise, in sigma")

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Follow the law."""
        falls = hacking[:, None]
        early, late = between(rng, self.peak, len(falls)), between(rng, self.later, len(falls))
        peak = early if self.stays else np.where(falls, early, late)
        z = progress / peak
        score = gao(np.where(falls, z, np.minimum(z, 1)) if self.stays else z)
        if any(self.end):
            lost = 1 - between(rng, self.end, len(falls))
            score = np.where(falls & (z > 1), 1 - lost * gao_fall(progress, early), score)
        if any(self.dip):
            depth, moment = (
                between(rng, self.dip, len(falls)),
                between(rng, (0.15, 0.45), len(falls)),
            )
            score *= 1 - depth * np.exp(-0.5 * ((progress - moment) / 0.06) ** 2)
        return Shapes(score, np.where(hacking, early[:, 0], np.nan))

    def noise_sd(
        self,
        rng: np.random.Generator,
        shape: FloatArray,
        gain: FloatArray,
    ) -> float | FloatArray:
        """Draw the noise of each run."""
        low, high = np.log(self.spread)
        drawn: FloatArray = self.sigma * np.exp(rng.uniform(low, high, (len(shape), 1)))
        return drawn


BASE = GaoFamily()

PAPER: dict[str, tuple[World, ...]] = {"paper n8": (Paper(),)}

GAO_FAMILY: dict[str, tuple[World, ...]] = {
    **{f"sigma {s:g}": (replace(BASE, sigma=s),) for s in (0.01, 0.03, 0.06, 0.12)},
    "plateau": (replace(BASE, stays=True),),
    "ar1 .4": (replace(BASE, rho=(0.4,)),),
    "dips": (replace(BASE, dip=(0.05, 0.15)),),
    "late": (replace(BASE, peak=(0.6, 0.8)),),
    "slow": (replace(BASE, end=(0.8, 0.95)),),
    "spiky": (replace(BASE, spikes=0.1),),
    "sigma unknown": (replace(BASE, sigma=0.01, spread=(1, 12)),),
    "n 10": (replace(BASE, n=10),),
}

OTHER_SHAPES: dict[str, tuple[World, ...]] = {
    f"{world.name} n {n} sigma {sigma:g}": tuple(
        world(n=n, sigma=sigma, rise=rise, end=(0.6, 0.9))
        for rise in ("exponential", "power", "logarithmic")
    )
    for world in (Triangle, Cliff, PlateauThenDecline)
    for n in (10, 25)
    for sigma in (0.02, 0.05, 0.10)
}
