"""Kalman trend: a local linear trend, filtered; is its slope negative now.

    score = level + noise,  level' = level + slope + disturbance,  slope' = slope + disturbance

with Gaussian noise and disturbances of standard deviations sigma, `level` sigma and `slope` sigma,
and nothing known of the first level and slope (exact diffuse). The statistic is the log odds of
``P(slope < 0 | scores so far)``.

Where it fails: `slope` says how fast the trend may turn; too small and it answers late, too large
and it follows the noise.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.7, 0.6, 0.5, 0.4], [0.5, 0.7, 0.6, 0.7, 0.8]])
>>> first_alarm(scan(KalmanTrend(sigma=0.03), runs), threshold=3)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.noise import (
    NoiseState,
    add_noise,
    no_noise,
    noise_of,
    sigma_setting,
    standardised,
)
from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import check_settings, setting


class State(NamedTuple):
    """Filtered level and slope, their (co)variances in sigma^2, ``(n_runs,)`` each; the noise."""

    level: FloatArray
    slope: FloatArray
    level_variance: FloatArray
    covariance: FloatArray
    slope_variance: FloatArray
    noise: NoiseState


@dataclass(frozen=True, slots=True)
class KalmanTrend:
    """Watch the odds that the filtered slope of the score is negative.

    Parameters
    ----------
    sigma : float or None
        Noise of one eval, in units of the score; none = estimated.
    level, slope : float
        Standard deviation of the change of level and of slope from eval to eval, in sigma.

    References
    ----------
    Harvey (1989), *Forecasting, structural time series models and the Kalman filter*; Durbin &
    Koopman (2012), *Time series analysis by state space methods*, chapter 5 (the diffuse start).
    """

    name: ClassVar[str] = "kalman-trend"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()
    level: float = setting(0.0, low=0, tune=(0, 1), unit="sigma", doc="change of level per eval")
    slope: float = setting(
        0.2, low=0, tune=(0.01, 2), log=True, unit="sigma", doc="change of slope"
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, n_runs: int) -> State:
        """Start without a score."""
        a, b, aa, ab, bb = np.zeros((5, n_runs))
        return State(a, b, aa, ab, bb, no_noise(n_runs))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Predict the score, learn from the error."""
        from scipy.special import log_ndtr

        score = observation.score
        assert score is not None
        last, known = state.noise.last, add_noise(state.noise, score)
        level_change, slope_change = self.level**2, self.slope**2

        covariance = state.covariance + state.slope_variance
        level_variance = state.level_variance + state.covariance + covariance + level_change
        error = score - (state.level + state.slope)
        gain, slope_gain = (v / (level_variance + 1) for v in (level_variance, covariance))

        first, second = known.n_seen == 1, known.n_seen == 2

        def start(
            one: FloatArray | float, two: FloatArray | float, later: FloatArray
        ) -> FloatArray:
            return np.where(first, one, np.where(second, two, later))

        # The first score fixes the level, the second the slope; the rest is filtered.
        new = State(
            start(score, score, state.level + state.slope + gain * error),
            start(0.0, score - last, state.slope + slope_gain * error),
            start(1.0, 1.0, gain),
            start(0.0, 1.0, slope_gain),
            start(
                0.0,
                2 + level_change + slope_change,
                state.slope_variance + slope_change - covariance * slope_gain,
            ),
            known,
        )
        sigma = self.sigma or noise_of(known)
        sd = np.sqrt(np.where(first, 1.0, new.slope_variance))
        z = standardised(new.slope / sd, sigma)
        odds = log_ndtr(-z) - log_ndtr(z)
        return new, np.where(first, -np.inf, odds)
