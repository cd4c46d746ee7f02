"""Ruptures: offline segmentation of the scores so far, as a reference.

The package *ruptures* finds the one break that lowers the sum of squares most (its KernelCPD with
the linear kernel, every position tried). The statistic is

    (cost without a break - cost with it) / sigma^2

if the mean behind the break is the lower one, else 0.

Where it fails: like `step-glr` it is blind to a fall that has not undone the rise before it, more
so since the best break of a curve that mostly rose is its rise; and it goes run by run, many times
slower than the other members. It is here to compare with.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.5, 0.3, 0.3], [0.5, 0.6, 0.5, 0.6, 0.5]])
>>> first_alarm(scan(Ruptures(sigma=0.05), runs), threshold=16)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.noise import noise, sigma_setting, standardised
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.settings import check_settings, setting
from evalstop.detectors.zoo.step_glr import split_contrasts


@dataclass(frozen=True, slots=True)
class Ruptures:
    """Watch the gain of the best single break of the scores so far.

    Parameters
    ----------
    sigma : float or None
        Noise of one eval, in units of the score; none = estimated.
    min_size : int
        Smallest number of evals on either side of the break.

    References
    ----------
    Truong, Oudre & Vayatis (2020), "Selective review of offline change point detection methods",
    arXiv:1801.00718.
    """

    name: ClassVar[str] = "ruptures"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()
    min_size: int = setting(2, low=1, tune=(1, 5), unit="evals", doc="smallest segment")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def monotone(self) -> bool:
        """A rising trend favours the breaks that rise; an estimated noise may fall with it."""
        return self.sigma is not None

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Break every run once."""
        n_runs, n_evals = prefix.shape
        if n_evals < 2 * self.min_size:
            return np.full(n_runs, -np.inf)
        breaks = best_breaks(prefix, self.min_size)
        falls = split_contrasts(prefix)[np.arange(n_runs), breaks - 1]
        falls = standardised(np.maximum(falls, 0), self.sigma or noise(prefix))
        return falls**2


def best_breaks(prefix: FloatArray, min_size: int) -> IntArray:
    """Give the best single break of each run, as the number of scores before it: ``(n_runs,)``."""
    from ruptures import KernelCPD

    centred = prefix - prefix[:, :1]
    search = KernelCPD(kernel="linear", min_size=min_size, jump=1)
    return np.array([search.fit(run).predict(n_bkps=1)[0] for run in centred[:, :, None]])
