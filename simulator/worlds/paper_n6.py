"""Another fit to the tables of the EvalStop paper: curves "n6" of the preset."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.laws import exponential, straight
from evalstop.simulator.worlds.world import Shapes, World, between


@dataclass(frozen=True)
class PaperN6(World):
    """EvalStop's other fit; fitted, not disclosed by the authors: 6 evals, straight fall.

    Healthy ``(1 - e^(-c p)) / (1 - e^-c)``, c ~ U(2.8, 3.2). Hacking runs have a law of their own:
    ``(1 - e^(-3 p/p*)) / (1 - e^-3)`` up to p* ~ U(.55, .75), then a straight fall to e ~ U(.45,
    .65). They reach the same height sooner, so **the rise leaks the label before the peak**.

    References
    ----------
    EvalStop, arXiv:2606.04145.
    """

    name: ClassVar[str] = "paper-n6"
    n: int = setting(6, low=1, high=100_000, unit="evals", doc="evals of a run")
    amplitude: tuple[float, ...] = setting((0.5, 0.7), unit="score", doc="range of a run's gain")

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Rise within the time up to the peak, or within the whole run."""
        n_runs, falls = len(hacking), hacking[:, None]
        peak, end = between(rng, (0.55, 0.75), n_runs), between(rng, (0.45, 0.65), n_runs)
        rate = np.where(falls, 3.0, between(rng, (2.8, 3.2), n_runs))
        score = exponential(np.minimum(progress / np.where(falls, peak, 1), 1), rate)
        score -= np.where(falls, (1 - end) * straight(progress, peak), 0)
        return Shapes(score, np.where(hacking, peak[:, 0], np.nan))
