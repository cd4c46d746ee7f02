"""Unimodal GLR: does a rise and fall fit better than a rise.

The statistic is

    [SSE(best non-decreasing fit) - SSE(best rise-then-fall fit)] / sigma^2

of all scores so far; both are isotonic least-squares fits, of any shape, so it assumes nothing but
the order: a healthy curve never falls, a hacking one falls after its peak.

Where it fails: so free a fit takes some noise for a fall, so on flat noise it needs a higher
threshold than a rule that knows the shape; every eval costs time that grows with the square of
their number.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.7, 0.6, 0.5, 0.4], [0.5, 0.7, 0.6, 0.7, 0.8]])
>>> first_alarm(scan(UnimodalGlr(sigma=0.05), runs), threshold=5)
array([ 3, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.noise import noise, sigma_setting, standardised
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings, setting


@dataclass(frozen=True, slots=True)
class UnimodalGlr:
    """Watch how much better a rise-then-fall fits than a rise.

    Parameters
    ----------
    sigma : float or None
        Noise of one eval, in units of the score; none = estimated.
    guess_weight : float or None
        Take sigma as a first guess only, worth that many second differences of the scores; none =
        it is known.

    References
    ----------
    Stout (2008), "Unimodal regression via prefix isotonic regression",
    doi:10.1016/j.csda.2008.08.005; Barlow, Bartholomew, Bremner & Brunk (1972), *Statistical
    inference under order restrictions*.
    """

    name: ClassVar[str] = "unimodal-glr"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()
    guess_weight: float | None = setting(
        None, low=1e-3, doc="evals that sigma is worth, as a guess"
    )

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def monotone(self) -> bool:
        """Sums of the unimodal fit, from any eval on, are at most those of the rising one."""
        return self.sigma is not None and self.guess_weight is None

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Compare the two fits."""
        if prefix.shape[1] < 2:
            return np.full(len(prefix), -np.inf)
        if self.sigma is None:
            sigma = noise(prefix)
        elif self.guess_weight is None:
            sigma = np.full(len(prefix), self.sigma)
        else:
            sigma = noise(prefix, prior=self.sigma, weight=self.guess_weight)
        return standardised(standardised(unimodal_gain(prefix), sigma), sigma)


def unimodal_gain(prefix: FloatArray) -> FloatArray:
    """Give SSE(non-decreasing) - SSE(rise then fall) of each run: ``(n_runs, m) -> (n_runs,)``."""
    centred = prefix - prefix[:, :1]
    fall = falling_error(centred)
    rise = falling_error(np.ascontiguousarray(centred[:, ::-1]))[:, ::-1]
    gain: FloatArray = rise[:, -1] - (rise + fall).min(axis=1)
    return gain


def falling_error(scores: FloatArray) -> FloatArray:
    """Give the SSE of the best non-increasing fit to every suffix.

    The fit of the first score of a suffix is the largest mean of the scores from there to some end;
    behind that end the fit is the one of the suffix that starts there.

    Returns
    -------
    array (n_runs, m + 1)
        Column j: the error of scores j, j+1, ...; the last is 0.
    """
    n_runs, m = scores.shape
    sums = np.zeros((n_runs, m + 1))
    scores.cumsum(axis=1, out=sums[:, 1:])
    squares = np.zeros((n_runs, m + 1))
    (scores**2).cumsum(axis=1, out=squares[:, 1:])
    error = np.zeros((n_runs, m + 1))
    rows = np.arange(n_runs)
    for j in range(m - 2, -1, -1):
        lengths = np.arange(1.0, m - j + 1)
        means = (sums[:, j + 1 :] - sums[:, j : j + 1]) / lengths
        best = means.argmax(axis=1)
        level, end = means[rows, best], best + j + 1
        within = squares[rows, end] - squares[:, j] - lengths[best] * level**2
        error[:, j] = error[rows, end] + np.maximum(within, 0)
    return error
