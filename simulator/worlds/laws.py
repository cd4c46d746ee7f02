"""How a score rises and falls with progress: pure functions, per-run parameters as columns.

A rise goes from 0 at progress 0 to 1 at progress 1. A fall goes from 0 at the peak to 1 at the end
of the run; a run loses that share of what it will have lost in the end.
"""

from collections.abc import Callable

import numpy as np

from evalstop.detectors.observation import FloatArray

# A peak at the very start has no Gao law: its unit of progress is the peak itself.
EARLIEST_PEAK = 1e-3


def exponential(progress: FloatArray, rate: FloatArray) -> FloatArray:
    """Converge exponentially: ``(1 - e^(-c p)) / (1 - e^-c)``."""
    return np.expm1(-rate * progress) / np.expm1(-rate)


def power(progress: FloatArray, rate: FloatArray) -> FloatArray:
    """Rise as a power law: ``p^c``."""
    return progress**rate


def logarithmic(progress: FloatArray, rate: FloatArray) -> FloatArray:
    """Rise logarithmically, never converging: ``ln(1 + c p) / ln(1 + c)``."""
    risen: FloatArray = np.log1p(rate * progress) / np.log1p(rate)
    return risen


def gao(ratio: FloatArray) -> FloatArray:
    """Give the RL law of Gao et al. in units of its peak: ``z (1 - ln z)`` at z = d/d*."""
    log: FloatArray = np.log(np.maximum(ratio, np.finfo(float).tiny))
    return ratio * (1 - log)


def quadratic(progress: FloatArray, peak: FloatArray) -> FloatArray:
    """Fall faster and faster: ``u^2``, u = share of the time after the peak that has passed."""
    return straight(progress, peak) ** 2


def straight(progress: FloatArray, peak: FloatArray) -> FloatArray:
    """Fall along a straight line."""
    return np.maximum(progress - peak, 0) / (1 - peak)


def step(progress: FloatArray, peak: FloatArray) -> FloatArray:
    """Fall at once."""
    return (progress > peak).astype(float)


def gao_fall(progress: FloatArray, peak: FloatArray) -> FloatArray:
    """Fall as the RL law of Gao et al. does, scaled to the depth asked for."""
    peak = np.maximum(peak, EARLIEST_PEAK)
    return (1 - gao(np.maximum(progress / peak, 1))) / (1 - gao(1 / peak))


Law = Callable[[FloatArray, FloatArray], FloatArray]

# Each law with the range from which a run's rate is drawn; the exponential's is the paper preset's.
RISES: dict[str, tuple[Law, tuple[float, float]]] = {
    "exponential": (exponential, (1.7, 3.65)),
    "power": (power, (0.3, 0.7)),
    "logarithmic": (logarithmic, (3.0, 30.0)),
}

FALLS: dict[str, Law] = {
    "quadratic": quadratic,
    "straight": straight,
    "step": step,
    "gao": gao_fall,
}
