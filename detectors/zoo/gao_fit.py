"""Gao fit: fit the law of reward over-optimisation and ask whether its peak has passed.

Gao et al. found that the true reward follows ``d (alpha - beta ln d)`` of the distance d from the
first policy. With d proportional to the number of evals i that is linear in 1, i and i ln i, so the
scores less the first one get a Bayesian least-squares fit f on those three, with the noise unknown:

    noise variance = (prior_df sigma^2 + SSE) / df,   df = prior_df + max(t - 3, 0)

The statistic is ``-log P(Student t with df degrees of freedom > T)``, T the largest over s < t of
``(f(s) - f(t)) / sd of f(s) - f(t)``: the evidence that the fit has come down from its peak.

Where it fails: on declines of another shape (a cliff, a plateau before the fall) the fit smooths
over what happened; after many evals on one plateau it takes any wiggle for the law.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.3, 0.5, 0.55, 0.5, 0.4, 0.3], [0.3, 0.5, 0.55, 0.6, 0.63, 0.65]])
>>> first_alarm(scan(GaoFit(sigma=0.03), runs), threshold=5)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.noise import noise, sigma_setting, standardised
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings, setting


@dataclass(frozen=True, slots=True)
class GaoFit:
    """Watch the evidence that a curve of Gao's law is past its peak.

    Parameters
    ----------
    sigma : float or None
        First guess of the noise of one eval, in units of the score; none = estimated.
    prior_df : float
        Weight of that guess, in evals.
    trend_sd : float
        Prior standard deviation of the two trends, in sigma; that of the intercept is ten times
        as large.

    References
    ----------
    Gao, Schulman & Hilton (2023), "Scaling laws for reward model overoptimization",
    arXiv:2210.10760; Gelman et al. (2013), *Bayesian data analysis*, chapter 14 (the fit).
    """

    name: ClassVar[str] = "gao-fit"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()
    prior_df: float = setting(2.0, low=0.1, tune=(0.5, 8), unit="evals", doc="weight of sigma")
    trend_sd: float = setting(33.0, low=1e-3, tune=(3, 300), log=True, unit="sigma", doc="prior")

    def __post_init__(self) -> None:
        check_settings(self)

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Fit, and compare every earlier eval with the current one."""
        n_runs, n_evals = prefix.shape
        if n_evals < 2:
            return np.full(n_runs, -np.inf)
        # All runs share one design, so the fit is three sums with fixed weights.
        i = np.arange(1.0, n_evals + 1)
        design = np.stack([np.ones(n_evals), i, i * np.log(i)])
        spread = self.trend_sd * np.array([10.0, 1.0, 1.0])
        covariance = np.linalg.inv(design @ design.T + np.diag(spread**-2.0))
        weights = covariance @ design
        scores = prefix - prefix[:, :1]
        level, slope, bend = ((scores * w).sum(axis=1)[:, None] for w in weights)
        errors = scores - (level + slope * design[1] + bend * design[2])
        df = self.prior_df + max(n_evals - 3, 0)
        guess = noise(prefix) if self.sigma is None else np.full(n_runs, self.sigma)
        sd = np.sqrt((self.prior_df * guess**2 + (errors**2).sum(axis=1)) / df)
        contrasts = (design[:, :-1] - design[:, -1:])[1:]
        fall = slope * contrasts[0] + bend * contrasts[1]
        fall /= np.sqrt(((covariance[1:, 1:] @ contrasts) * contrasts).sum(axis=0))
        return -log_tail(standardised(fall.max(axis=1), sd), df)


def log_tail(t: FloatArray, df: float) -> FloatArray:
    """Give ``log P(Student t > t)``, also where the probability itself is 0 in floating point."""
    from scipy.special import betaln, hyp2f1, stdtr

    tail = stdtr(df, -t)
    log: FloatArray = np.log(np.maximum(tail, np.finfo(float).tiny))
    far = tail < 1e-280
    if far.any():
        # P = I_x(df/2, 1/2) / 2, the incomplete beta function by its hypergeometric series.
        a, b, x = df / 2, 0.5, df / (df + t[far] ** 2)
        series = hyp2f1(a + b, 1, a + 1, x)
        power = a * np.log(x) + b * np.log1p(-x)
        log[far] = np.log(series) + power - np.log(2 * a) - betaln(a, b)
    return log
