"""Slope GLR: the steepest recent decline, over the noise.

The statistic is the largest, over windows of the last m = 3..t evals, of

    -slope[m] sqrt(sum of (i - mean of i)^2) / sigma

with the least-squares slope of the window: the signed root of the generalised likelihood ratio for
a linear decline of unknown start. On flat noise each term is standard normal.

Where it fails: a short drop that recovers is a decline until it has; and with an estimated sigma
the first few evals know little of the noise, so the threshold must be higher.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.7, 0.6, 0.5, 0.4], [0.5, 0.7, 0.6, 0.7, 0.8]])
>>> first_alarm(scan(SlopeGlr(sigma=0.05), runs), threshold=3)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.noise import noise, sigma_setting, standardised
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings


@dataclass(frozen=True, slots=True)
class SlopeGlr:
    """Watch the most significant least-squares decline that ends at the current eval.

    Parameters
    ----------
    sigma : float or None
        Noise of one eval, in units of the score; none = estimated.

    References
    ----------
    Willsky & Jones (1976), "A generalized likelihood ratio approach to the detection and
    estimation of jumps in linear systems", doi:10.1109/TAC.1976.1101146.
    """

    name: ClassVar[str] = "slope-glr"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def monotone(self) -> bool:
        """A rising trend raises every slope; an estimated noise may fall with it."""
        return self.sigma is not None

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Fit every window that ends at the current eval, by sums from there backwards."""
        n_runs, n_evals = prefix.shape
        if n_evals < 3:
            return np.full(n_runs, -np.inf)
        back = prefix[:, ::-1] - prefix[:, -1:]
        m = np.arange(1.0, n_evals + 1)
        sums = back.cumsum(axis=1)
        moments = (back * (m - 1)).cumsum(axis=1)
        declines = (moments - (m - 1) / 2 * sums)[:, 2:] / np.sqrt(m * (m**2 - 1) / 12)[2:]
        return standardised(declines.max(axis=1), self.sigma or noise(prefix))
