"""CUSUM: the summed fall below a target.

``S = max(0, S + (target - x) / sigma - k)``, from S = 0. Against a given target with known sigma it
is Page's chart, the quickest to find a shift of ``2 k`` sigma for its rate of false alarms, and its
run lengths are exact (`evalstop.detectors.run_length`).

Where it fails: a given target is blind on a curve that rises above it; the best three scores so far
(the default) are above the level of a flat noisy curve, by about one sigma, so that a small k sums
up noise; and an estimated sigma voids the exact theory.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.4, 0.5, 0.6, 0.58, 0.4, 0.3], [0.4, 0.5, 0.6, 0.58, 0.62, 0.6]])
>>> first_alarm(scan(Cusum(), runs), threshold=3)
array([ 5, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.charts import SIDES, CusumChart
from evalstop.detectors.noise import standardised
from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import setting
from evalstop.detectors.target import AgainstTarget, Past


class State(NamedTuple):
    """Summed fall and summed rise ``(n_runs,)``, and what is remembered for the target."""

    fall: FloatArray
    rise: FloatArray
    past: Past


@dataclass(frozen=True, slots=True)
class Cusum(AgainstTarget):
    """Sum up how far the score falls below its target, less a tolerated part (Page's CUSUM).

    Parameters
    ----------
    target, mean, sigma
        See `evalstop.detectors.target.AgainstTarget`.
    k : float
        Tolerated fall per eval in sigma, at least 0: half of the shift to be found.
    sided : {"one", "two"}
        Falls only, or rises as well (the larger of the two sums).

    References
    ----------
    Page (1954), "Continuous inspection schemes", doi:10.1093/biomet/41.1-2.100.
    """

    name: ClassVar[str] = "cusum"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    k: float = setting(0.5, low=0, tune=(0, 2), unit="sigma", doc="tolerated fall per eval")
    sided: str = setting("one", choices=SIDES, doc="falls, or falls and rises")

    @property
    def monotone(self) -> bool:
        """A rise lowers every fall below the target, unless it enters the noise."""
        return self.sigma is not None and self.sided == "one"

    def chart(self) -> CusumChart:
        """Give the chart of the exact theory; `UserError` if none applies."""
        self.require_exact()
        return CusumChart(self.k, self.sided)

    def init(self, n_runs: int) -> State:
        """Start at zero."""
        return State(np.zeros(n_runs), np.zeros(n_runs), self.no_past(n_runs))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Add one deviation from the target."""
        score = observation.score
        assert score is not None
        past, (target, sigma) = self.look_back(state.past, score)
        deviation = standardised(target - score, sigma)
        # fmax: a deviation that is not known yet (NaN) leaves the sum at zero
        fall = statistic = np.fmax(state.fall + (deviation - self.k), 0.0)
        rise = state.rise
        if self.sided == "two":
            rise = np.fmax(rise - (deviation + self.k), 0.0)
            statistic = np.maximum(fall, rise)
        return State(fall, rise, past), np.where(np.isnan(deviation), -np.inf, statistic)
