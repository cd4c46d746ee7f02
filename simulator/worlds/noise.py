"""Eval noise of standard deviation 1: Gaussian or heavy-tailed, correlated, with spikes."""

import numpy as np

from evalstop.detectors.observation import FloatArray

# How many times larger than usual the noise of a spike is.
SPIKE = 5.0


def draw_noise(
    rng: np.random.Generator,
    shape: tuple[int, int],
    *,
    rho: float | FloatArray = 0.0,
    spikes: float = 0.0,
    tail: float = np.inf,
) -> FloatArray:
    """Draw noise of mean 0 and standard deviation 1 (before spikes).

    Parameters
    ----------
    rng : Generator
        Source of the noise.
    shape : (n_runs, n_evals)
        How many values.
    rho : float or array (n_runs,)
        Correlation of successive evals, in (-1, 1): stationary AR(1).
    spikes : float
        Share of evals, in [0, 1], whose noise is `SPIKE` times as large.
    tail : float
        Degrees of freedom of Student's t, > 2; infinite = Gaussian.

    Returns
    -------
    array (n_runs, n_evals)
    """
    if np.isinf(tail):
        noise = rng.standard_normal(shape)
    else:
        noise = rng.standard_t(tail, shape) * np.sqrt((tail - 2) / tail)
    if np.any(rho):
        fresh = np.sqrt(1 - np.square(rho))
        for i in range(1, shape[1]):
            noise[:, i] = rho * noise[:, i - 1] + fresh * noise[:, i]
    if spikes:
        noise *= np.where(rng.random(shape) < spikes, SPIKE, 1.0)
    return noise


def log_density(noise: FloatArray, *, spikes: float = 0.0, tail: float = np.inf) -> FloatArray:
    """Give the logarithm of the density of independent noise, up to a constant.

    Parameters
    ----------
    noise : array
        Values in units of the standard deviation.
    spikes, tail : float
        As in `draw_noise`.
    """
    if np.isinf(tail):
        usual = -0.5 * np.square(noise)
    else:
        usual = -(tail + 1) / 2 * np.log1p(np.square(noise) / (tail - 2))
    if not spikes:
        return usual
    spike = log_density(noise / SPIKE, tail=tail)
    # log(a + b) by hand: usual is at most this much above spike, so that nothing can overflow.
    mixed: FloatArray = spike + np.log(spikes / SPIKE + (1 - spikes) * np.exp(usual - spike))
    return mixed
