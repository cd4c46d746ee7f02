"""Flat noise: what is assumed of it, and how it is drawn."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings, setting

NOISES = ("gaussian", "t3")


@dataclass(frozen=True)
class FlatNoise:
    """Noise about a mean that does not move, and how much of it is drawn.

    Parameters
    ----------
    noise : {"gaussian", "t3"}
        Law of the noise; t3 = Student's t with 3 degrees of freedom.
    rho : float
        Correlation of successive evals, in (-1, 1): stationary AR(1).
    sigma : float, optional
        Standard deviation of one eval in units of the score; none = as the detector declares.
    runs : int
        Runs that the threshold comes from; as many fresh ones measure what it does.
    seed : int
        Seed of all of them.
    """

    name: ClassVar[str] = "flat noise"
    noise: str = setting("gaussian", choices=NOISES, doc="law of the noise")
    rho: float = setting(0.0, low=-0.99, high=0.99, doc="correlation of successive evals")
    sigma: float | None = setting(
        None, low=1e-300, high=1e90, unit="score", doc="noise of one eval"
    )
    runs: int = setting(50_000, low=500, doc="runs that are drawn")
    seed: int = setting(0, low=0, doc="seed")

    def __post_init__(self) -> None:
        check_settings(self)

    def draw(self, seeds: np.random.SeedSequence, n_runs: int, horizon: int) -> FloatArray:
        """Draw noise of sd 1 ``(n_runs, horizon)``; a longer horizon begins with the same evals."""
        rng, shape = np.random.default_rng(seeds), (horizon, n_runs)
        noise: FloatArray = (
            rng.standard_t(3, shape) / np.sqrt(3)
            if self.noise == "t3"
            else rng.standard_normal(shape)
        )
        if self.rho:
            fresh = np.sqrt(1 - self.rho**2)
            for i in range(1, horizon):
                noise[i] = self.rho * noise[i - 1] + fresh * noise[i]
        return noise.T

    def __str__(self) -> str:
        law = "Gaussian" if self.noise == "gaussian" else "Student t (3 df)"
        return f"AR(1) {law} noise of rho {self.rho:g}" if self.rho else f"independent {law} noise"


DEFAULT = FlatNoise()
