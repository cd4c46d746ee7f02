"""Shiryaev-Roberts: the likelihood ratios of a change at every past eval, summed.

``R = (1 + R) LR``; the statistic is ``log(1 + R)``. On *levels*, LR is that of a score `theta`
sigma below the target against one at the target: with a given target and a known sigma the run
lengths are exact (`evalstop.detectors.run_length`). On *differences*, LR is that of a mean
difference of -`theta` sigma against one of +`theta` sigma, which is ``exp(-theta difference /
sigma)``: falling against rising, with no target at all.

Where it fails: differences of independent noise are correlated, which LR ignores, so that no
threshold has an exact promise; a flat curve is halfway between rising and falling; a given target
is blind on a curve that rises above it.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.4, 0.5, 0.6, 0.58, 0.4, 0.3], [0.4, 0.5, 0.6, 0.58, 0.62, 0.6]])
>>> first_alarm(scan(ShiryaevRoberts(), runs), threshold=3)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.charts import ShiryaevRobertsChart
from evalstop.detectors.noise import standardised
from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import setting
from evalstop.detectors.target import AgainstTarget, Past
from evalstop.errors import UserError


class State(NamedTuple):
    """``log(1 + R)`` and the last score (NaN before one), ``(n_runs,)`` each, and the past."""

    log_sum: FloatArray
    last: FloatArray
    past: Past


@dataclass(frozen=True, slots=True)
class ShiryaevRoberts(AgainstTarget):
    """Sum up the likelihood ratios of a fall that began at any eval before (Shiryaev-Roberts).

    Parameters
    ----------
    target, mean, sigma
        See `evalstop.detectors.target.AgainstTarget`; differences need no target.
    theta : float
        Size of the fall to be found, in sigma, at least 0.01: below the target, or per eval.
    on : {"differences", "levels"}
        What is judged: differences of consecutive scores, or scores against the target.

    References
    ----------
    Shiryaev (1963), doi:10.1137/1108002; Roberts (1966), doi:10.1080/00401706.1966.10490374;
    Pollak (1985), doi:10.1214/aos/1176346587.
    """

    name: ClassVar[str] = "shiryaev-roberts"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    theta: float = setting(
        1.0, low=0.01, tune=(0.25, 4), log=True, unit="sigma", doc="size of fall"
    )
    on: str = setting("differences", choices=("differences", "levels"), doc="what is judged")

    @property
    def monotone(self) -> bool:
        """A rise lowers every likelihood ratio, unless it enters the noise."""
        return self.sigma is not None

    def chart(self) -> ShiryaevRobertsChart:
        """Give the chart of the exact theory; `UserError` if none applies."""
        if self.on != "levels":
            raise UserError(
                "shiryaev-roberts: differences have no exact run lengths, set on=levels, or "
                "calibrate on flat noise (flat) or on healthy runs (conformal)"
            )
        self.require_exact()
        return ShiryaevRobertsChart(self.theta)

    def init(self, n_runs: int) -> State:
        """Start with no likelihood ratio."""
        return State(np.zeros(n_runs), np.full(n_runs, np.nan), self.no_past(n_runs))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Multiply by one likelihood ratio."""
        score = observation.score
        assert score is not None
        past = state.past
        if self.on == "levels":
            past, (target, sigma) = self.look_back(past, score)
            log_ratio = standardised(target - score, sigma) * self.theta - self.theta**2 / 2
        else:
            noise, sigma = self.noise_now(past.noise, score)
            past = past._replace(noise=noise)
            log_ratio = standardised(state.last - score, sigma) * self.theta
        log_sum = _log1p_exp(state.log_sum + log_ratio)
        # fmax: what is not known yet (NaN) adds nothing and is not judged
        return State(np.fmax(log_sum, 0.0), score, past), np.fmax(log_sum, -np.inf)


def _log1p_exp(x: FloatArray) -> FloatArray:
    """``log(1 + exp(x))`` without overflow, several times as fast as ``np.logaddexp(0, x)``."""
    size = np.abs(x)
    value: FloatArray = 0.5 * (x + size) + np.log1p(np.exp(-size))
    return value
