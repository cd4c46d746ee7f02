"""E-process: evidence for a fall that may be looked at after every eval.

A bet of 1 on a flat mean, spread evenly over where a fall may begin (after eval tau = 1..N-1, or
never; N = `horizon`) and over how deep it is (delta sigma, delta in `shifts`). Each part grows by
the likelihood ratio of the scores, whose level is unknown and drops out:

    exp(delta v (mean before - mean after) / sigma - delta^2 v / 2),   v = tau (t - tau) / t

and stays at 1 until its fall has begun. The statistic is the log of the sum. On flat Gaussian noise
of known sigma the sum is a martingale, so by Ville's inequality

    P(sum ever reaches 1 / alpha) <= alpha

at any number of evals, even past the horizon, and also for every non-decreasing mean. The natural
threshold ``log(1 / alpha)`` is therefore a promise; with an estimated sigma there is none.

Where it fails: a promise for all times is conservative (on flat noise it is wrong far less often
than alpha), a fall that begins after the horizon is not bet on, and like `step-glr` it is slow when
a fall must first undo a rise.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.5, 0.3, 0.3, 0.3], [0.5, 0.6, 0.5, 0.6, 0.5, 0.6]])
>>> rule = EProcess(sigma=0.05)
>>> first_alarm(scan(rule, runs), rule.natural_threshold)
array([ 3, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.noise import noise, sigma_setting, standardised
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings, setting
from evalstop.detectors.zoo.step_glr import split_contrasts
from evalstop.errors import UserError

SHIFTS = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class EProcess:
    """Bet against a flat curve; the wealth is evidence at any time.

    Parameters
    ----------
    sigma : float or None
        Noise of one eval, in units of the score; none = estimated, and no promise.
    alpha : float
        Chance of ever stopping a healthy run that the natural threshold allows.
    horizon : int
        Number of evals over which the bet is spread.
    shifts : tuple of float
        Sizes of a fall that are bet on, in sigma.

    References
    ----------
    Ville (1939), *Étude critique de la notion de collectif*; Ramdas, Grünwald, Vovk & Shafer
    (2023), "Game-theoretic statistics and safe anytime-valid inference", arXiv:2210.01948.
    """

    name: ClassVar[str] = "e-process"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()
    alpha: float = setting(0.05, low=1e-9, high=1, doc="chance of ever stopping a healthy run")
    horizon: int = setting(20, low=2, tune=(5, 100), unit="evals", doc="where a fall may begin")
    shifts: tuple[float, ...] = setting(SHIFTS, unit="sigma", doc="sizes of the fall")

    def __post_init__(self) -> None:
        check_settings(self)
        check_shifts(self.name, self.shifts)

    @property
    def natural_threshold(self) -> float | None:
        """Ville's bound, for a known sigma."""
        return None if self.sigma is None else float(-np.log(self.alpha))

    @property
    def monotone(self) -> bool:
        """A rising trend lowers every part of the bet; an estimated noise may fall with it."""
        return self.sigma is not None

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Add up the bets; those on falls that have not begun are worth what they were."""
        begun = min(prefix.shape[1], self.horizon) - 1
        bets = log_bets(prefix, self.sigma or noise(prefix), self.shifts)[:, :begun]
        return log_sum(bets, begun / self.horizon, 1 - begun / self.horizon)


def log_bets(
    prefix: FloatArray, sigma: FloatArray | float, shifts: tuple[float, ...]
) -> FloatArray:
    """Give the log likelihood ratios ``(n_runs, m - 1, n_shifts)`` of all falls that have begun."""
    m = prefix.shape[1]
    before = np.arange(1.0, m)
    root = np.sqrt(before * (m - before) / m)[:, None] * np.array(shifts)
    contrasts = standardised(split_contrasts(prefix), sigma)
    bets: FloatArray = contrasts[:, :, None] * root - root**2 / 2
    return bets


def log_sum(bets: FloatArray, weight: float, rest: float) -> FloatArray:
    """Give the log of ``weight`` times the mean of ``exp(bets)`` plus ``rest``: ``(n_runs,)``."""
    flat = bets.reshape(len(bets), -1)
    if flat.shape[1] == 0:
        return np.full(len(bets), np.log(rest))
    largest = np.maximum(flat.max(axis=1), 0)
    mean = np.exp(flat - largest[:, None]).mean(axis=1)
    total: FloatArray = largest + np.log(weight * mean + rest * np.exp(-largest))
    return total


def check_shifts(name: str, shifts: tuple[float, ...]) -> None:
    """Raise `UserError` unless there are sizes to bet on, all above 0."""
    if not shifts or not all(0 < s < np.inf for s in shifts):
        raise UserError(f"{name}: shifts must be numbers above 0, got shifts={shifts}")
