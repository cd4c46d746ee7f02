"""E-detector: bets against a flat curve, a new one after every eval.

The bets of `e-process` on a fall after eval tau, each of 1, placed only when that eval has come
instead of spread over a horizon:

    M[t] = 1 + sum over tau = 1..t-1 of the mean over delta of the likelihood ratio

and the statistic is ``log M``: Shiryaev-Roberts for an unknown level. On flat Gaussian noise of
known sigma ``M[t] - t`` is a martingale, so the mean time to a false alarm at ``M >= arl`` is at
least `arl` evals: the natural threshold is ``log(arl)``. With an estimated sigma there is no
promise.

Where it fails: it promises how seldom alarms are false, not that a run is never stopped: over many
evals it will be. For that there is `e-process`.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.5, 0.3, 0.3, 0.3], [0.5, 0.6, 0.5, 0.6, 0.5, 0.6]])
>>> rule = EDetector(sigma=0.05, arl=100)
>>> first_alarm(scan(rule, runs), rule.natural_threshold)
array([ 3, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.noise import noise, sigma_setting
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings, setting
from evalstop.detectors.zoo.e_process import SHIFTS, check_shifts, log_bets, log_sum


@dataclass(frozen=True, slots=True)
class EDetector:
    """Place a new bet against a flat curve after every eval.

    Parameters
    ----------
    sigma : float or None
        Noise of one eval, in units of the score; none = estimated, and no promise.
    arl : float
        Mean time to a false alarm that the natural threshold promises.
    shifts : tuple of float
        Sizes of a fall that are bet on, in sigma.

    References
    ----------
    Shin, Ramdas & Rinaldo (2022), "E-detectors: a nonparametric framework for sequential change
    detection", arXiv:2203.03532; Pollak & Siegmund (1991), "Sequential detection of a change in a
    normal mean when the initial value is unknown", Annals of Statistics 19, 394-416.
    """

    name: ClassVar[str] = "e-detector"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()
    arl: float = setting(400.0, low=1, unit="evals", doc="mean time to a false alarm, at least")
    shifts: tuple[float, ...] = setting(SHIFTS, unit="sigma", doc="sizes of the fall")

    def __post_init__(self) -> None:
        check_settings(self)
        check_shifts(self.name, self.shifts)

    @property
    def natural_threshold(self) -> float | None:
        """The bound on the mean time to a false alarm, for a known sigma."""
        return None if self.sigma is None else float(np.log(self.arl))

    @property
    def monotone(self) -> bool:
        """A rising trend lowers every bet; an estimated noise may fall with it."""
        return self.sigma is not None

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Add up the bets placed so far."""
        bets = log_bets(prefix, self.sigma or noise(prefix), self.shifts)
        return log_sum(bets, prefix.shape[1] - 1, 1)
