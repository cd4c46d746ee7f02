"""What a control chart measures against: a target and a noise level, given or from the past.

The target of an eval comes from the evals before it, so that a fall does not hide itself. On a
curve that rises first, a first value or a running mean lies far below the scores and a chart
against it is blind to a fall that stays above it; the best scores so far follow the rise.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalstop.detectors.noise import NoiseState, add_noise, no_noise, noise_of, sigma_setting
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings, name_of, setting
from evalstop.errors import UserError

TARGETS = ("given", "running-mean", "best-so-far")


class Past(NamedTuple):
    """What a chart remembers of the evals before, ``(n_runs,)`` each; NaN = not known yet.

    Number of evals, their mean and the best three (for the targets), and the noise.
    """

    n_seen: FloatArray
    mean: FloatArray
    best: FloatArray
    second: FloatArray
    third: FloatArray
    noise: NoiseState


class Reference(NamedTuple):
    """Target, NaN where it is not known yet, and sigma, each ``(n_runs,)`` or given."""

    target: FloatArray | float
    sigma: FloatArray | float


@dataclass(frozen=True, slots=True)
class AgainstTarget:
    """Measure scores against a target in units of their noise.

    Parameters
    ----------
    target : {"given", "running-mean", "best-so-far"}
        What scores should be at least: `mean`, the mean of all evals before, or the mean of the
        best three evals before (not known until there are three).
    mean : float
        The given target, in units of the score.
    sigma : float, optional
        Noise of one eval; none = estimated from second differences (`evalstop.detectors.noise`).
    """

    target: str = setting("best-so-far", choices=TARGETS, doc="what scores are held against")
    mean: float = setting(0.0, unit="score", doc="the given target")
    sigma: float | None = sigma_setting()

    def __post_init__(self) -> None:
        check_settings(self)

    def no_past(self, n_runs: int) -> Past:
        """Start without an eval."""
        mean, best, second, third = np.full((4, n_runs), np.nan)
        return Past(np.zeros(n_runs), mean, best, second, third, no_noise(n_runs))

    def look_back(self, past: Past, score: FloatArray) -> tuple[Past, Reference]:
        """Give the reference of one eval, and take it into the past."""
        n_seen, mean, best, second, third, noise = past
        target: FloatArray | float = self.mean
        if self.target == "running-mean":
            target, n_seen = mean, n_seen + 1
            mean = np.where(n_seen == 1, score, mean + (score - mean) / n_seen)
        elif self.target == "best-so-far":
            target = (best + second + third) / 3
            # minimum keeps an unknown, fmax replaces it
            beaten = np.minimum(best, score)
            best, rest = np.fmax(best, score), np.minimum(second, beaten)
            second, third = np.fmax(second, beaten), np.fmax(third, rest)
        noise, sigma = self.noise_now(noise, score)
        return Past(n_seen, mean, best, second, third, noise), Reference(target, sigma)

    def noise_now(
        self, noise: NoiseState, score: FloatArray
    ) -> tuple[NoiseState, FloatArray | float]:
        """Give sigma at one eval: the given one, or the estimate from all evals up to it."""
        if self.sigma is not None:
            return noise, self.sigma
        noise = add_noise(noise, score)
        return noise, noise_of(noise)

    def require_exact(self) -> None:
        """Raise `UserError` unless target and sigma are given: else no run length is exact."""
        if self.target != "given" or self.sigma is None:
            raise UserError(
                f"{name_of(self)}: exact run lengths hold for a given target and sigma only, "
                "set target=given, mean and sigma, or calibrate on flat noise (flat) or on healthy "
                "runs (conformal)"
            )
