"""Which flat noise a detector has to be calibrated on: found out by asking the detector.

Its statistic may depend on neither the level nor the size of the noise: then nothing has to be
known. What it depends on is taken from what the user says, else from what the detector declares
(``mean`` of a given target, ``sigma``), and never guessed.
"""

from dataclasses import dataclass, replace

import numpy as np

from evalstop.detectors.observation import FloatArray, Runs
from evalstop.detectors.rules import Detector, inputs_of, is_rank_based
from evalstop.detectors.scan import scan
from evalstop.detectors.settings import name_of
from evalstop.errors import UserError

# Enough runs and evals for a statistic that depends on size or level to show it.
PROBES, LONG_ENOUGH = 16, 24
SHIFTS, SIZES = (-16.0, 16.0), (2.0**-10, 1.0, 2.0**10)
MADE = ("score", "step")


@dataclass(frozen=True)
class NoiseLevel:
    """Mean (none = any) and standard deviation of flat scores; the latter also in words."""

    mean: float | None
    sd: float
    size: str

    def scores(self, noise: FloatArray) -> FloatArray:
        """Make scores of noise of sd 1."""
        return (self.mean or 0.0) + self.sd * noise


ANY_NOISE = NoiseLevel(None, 1.0, "of any size")


def noise_level(detector: Detector, horizon: int, sigma: float | None) -> NoiseLevel:
    """Find the noise level on which a detector has to be calibrated.

    Parameters
    ----------
    detector : Detector
        Any that reads the scores only.
    horizon : int
        Evals per run.
    sigma : float, optional
        Noise of one eval as the user knows it, in units of the score.

    Raises
    ------
    UserError
        If it depends on something that nobody has said.
    """
    name = name_of(detector)
    for channel in inputs_of(detector):
        if channel not in MADE:
            raise UserError(
                f"{name}: it reads the {channel}, of which flat noise says nothing; calibrate it "
                "on healthy runs (conformal), or give a threshold"
            )
    if is_rank_based(detector):
        return ANY_NOISE
    declared_mean = getattr(detector, "mean", None)
    base = 0.0 if declared_mean is None else float(declared_mean)
    declared = getattr(detector, "sigma", None) if sigma is None else sigma
    unit = 1.0 if declared is None else float(declared)
    noise = np.random.default_rng(0).standard_normal((PROBES, max(horizon, LONG_ENOUGH)))
    usual = scan(detector, flat_runs(base + unit * noise))

    def agrees(scores: FloatArray) -> bool:
        """Tell whether the statistics are the usual ones, rounding apart."""
        told = scan(detector, flat_runs(scores))
        return bool(np.allclose(usual, told, rtol=1e-6, atol=1e-9))

    moved = not all(agrees(base + unit * (noise + shift)) for shift in SHIFTS)
    if moved and declared_mean is None:
        raise UserError(
            f"{name}: its statistic depends on the level of the scores, so that flat noise says "
            "nothing of it; calibrate it on healthy runs (conformal), or give a threshold"
        )
    mean = base if moved else None
    sizes = (*(unit * size for size in SIZES), *SIZES)
    if all(agrees(base + size * noise) for size in sizes):
        return replace(ANY_NOISE, mean=mean)
    if declared is None:
        raise UserError(
            f"{name}: its statistic depends on the size of the noise, give --sigma (noise of one "
            "eval, in units of the score), or calibrate it on healthy runs (conformal)"
        )
    return NoiseLevel(mean, unit, f"of sd {unit:g}")


def flat_runs(scores: FloatArray) -> Runs:
    """Make runs of scores, with the channels that flat runs can have."""
    steps = np.broadcast_to(np.arange(1.0, scores.shape[1] + 1), scores.shape)
    return Runs(scores, step=steps)
