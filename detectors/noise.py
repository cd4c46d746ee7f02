"""The noise of one eval, estimated from the scores so far: one way for all members.

A second difference ``x[i] - 2 x[i-1] + x[i-2]`` of independent noise has variance 6 sigma^2 and
hardly sees a smooth trend; a first difference has variance 2 sigma^2 and sees its slope. After m
evals the estimate is

    sigma^2 = (sum of second differences^2 / 6 + weight * prior) / (m - 2 + weight)

where the prior is ``mean of first differences^2 / 2``. One second difference alone is as good as
zero every so often, and a statistic divided by it as good as infinite; with the prior the estimate
is zero on constant scores only, and a statistic over it is bounded on any scores, whatever their
scale. Nothing after the current eval is used.

A field ``sigma: float | None = sigma_setting()`` is a known sigma, or none: estimated; members
divide by ``self.sigma or noise(prefix)`` with `standardised`.

References
----------
von Neumann, Kent, Bellinson & Hart (1941), "The mean square successive difference",
doi:10.1214/aoms/1177731746; Gasser, Sroka & Jennen-Steinmetz (1986), "Residual variance and
residual pattern in nonlinear regression", doi:10.1093/biomet/73.3.625.
"""

from typing import Any, NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting


class NoiseState(NamedTuple):
    """What a recursive rule remembers to estimate the noise, ``(n_runs,)`` each.

    Evals so far, the last score and the last first difference (NaN before there is one), sums of
    squared differences.
    """

    n_seen: FloatArray
    last: FloatArray
    difference: FloatArray
    first: FloatArray
    second: FloatArray


def sigma_setting() -> Any:  # noqa: ANN401 - dataclasses.field lies about its type in the same way
    """Declare the field ``sigma`` of a member."""
    return setting(None, low=1e-12, unit="score", doc="noise of one eval; none = estimated")


def no_noise(n_runs: int) -> NoiseState:
    """Start without a score."""
    n_seen, first, second = np.zeros((3, n_runs))
    last, difference = np.full((2, n_runs), np.nan)
    return NoiseState(n_seen, last, difference, first, second)


def add_noise(state: NoiseState, score: FloatArray) -> NoiseState:
    """Take one eval."""
    difference = score - state.last
    bend = difference - state.difference
    # fmax leaves a sum as it is while the difference is not known
    first = np.fmax(state.first, state.first + difference**2)
    second = np.fmax(state.second, state.second + bend**2)
    return NoiseState(state.n_seen + 1, score, difference, first, second)


def noise_of(state: NoiseState) -> FloatArray:
    """Give the estimated sigma ``(n_runs,)``; 0 before the second eval and on constant scores."""
    weights = np.maximum(state.n_seen - 1, 1)
    sigma: FloatArray = np.sqrt((state.second / 6 + state.first / (2 * weights)) / weights)
    return sigma


def noise(prefix: FloatArray, *, prior: float | None = None, weight: float = 1.0) -> FloatArray:
    """Give the sigma estimated from the scores so far: `noise_of` as a function of the prefix.

    Parameters
    ----------
    prefix : array (n_runs, m)
        Scores so far.
    prior : float, optional
        A first guess of sigma; default: from the first differences.
    weight : float
        Weight of the prior, in second differences, above 0.

    Returns
    -------
    array (n_runs,)
    """
    n_runs, m = prefix.shape
    first = np.diff(prefix, axis=1)
    guess = (
        np.full(n_runs, prior**2)
        if prior is not None
        else (first**2).sum(axis=1) / (2 * max(m - 1, 1))
    )
    second = (np.diff(first, axis=1) ** 2).sum(axis=1)
    sigma: FloatArray = np.sqrt((second / 6 + weight * guess) / (max(m - 2, 0) + weight))
    return sigma


def standardised(value: FloatArray, sigma: FloatArray | float) -> FloatArray:
    """Divide by sigma; 0 where sigma is 0: constant scores are no evidence.

    Parameters
    ----------
    value : array (n_runs, ...)
        What to divide, in units of the score.
    sigma : float or array (n_runs,)
        A known sigma, or the estimate of each run.
    """
    sigma = np.asarray(sigma, dtype=float)
    if sigma.ndim == 0:
        return value / sigma
    divisor = sigma.reshape(sigma.shape + (1,) * (value.ndim - 1)).copy()
    np.copyto(divisor, np.inf, where=~(divisor > 0))  # half the time of np.where
    return value / divisor
