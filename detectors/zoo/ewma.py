"""EWMA control chart: how far the smoothed score is below a target.

``z = (1 - weight) z + weight x``; the statistic is ``(target - z) / sd(z)``, where ``sd(z)`` is
``sigma sqrt(weight / (2 - weight))`` (fixed limits) or, t evals after a start at the target,
``sigma sqrt(weight / (2 - weight) (1 - (1 - weight)^(2 t)))`` (exact limits). With a given target z
starts there and, if sigma is known too, its run lengths are exact
(`evalstop.detectors.run_length`); otherwise z starts at the first score.

Where it fails: a small weight, best for small shifts, lags behind a rise and answers late; a given
target is blind on a curve that rises above it; an estimated sigma voids the exact theory.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.4, 0.5, 0.6, 0.58, 0.4, 0.3], [0.4, 0.5, 0.6, 0.58, 0.62, 0.6]])
>>> first_alarm(scan(Ewma(), runs), threshold=2)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.charts import SIDES, EwmaChart
from evalstop.detectors.noise import standardised
from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import setting
from evalstop.detectors.target import AgainstTarget, Past


class State(NamedTuple):
    """Smoothed score (NaN before the first), ``(1 - weight)^(2 t)``, and the target's memory."""

    smooth: FloatArray
    start_share: FloatArray
    past: Past


@dataclass(frozen=True, slots=True)
class Ewma(AgainstTarget):
    """Watch how far the smoothed score is below its target (EWMA control chart).

    Parameters
    ----------
    target, mean, sigma
        See `evalstop.detectors.target.AgainstTarget`.
    weight : float
        Weight of the newest score, in [0.001, 1].
    limits : {"fixed", "exact"}
        Standard deviation of the stationary chart, or of the chart at that eval.
    sided : {"one", "two"}
        Falls only, or rises as well.

    References
    ----------
    Roberts (1959), "Control chart tests based on geometric moving averages",
    doi:10.1080/00401706.1959.10489860.
    """

    name: ClassVar[str] = "ewma"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    weight: float = setting(
        0.5, low=0.001, high=1, tune=(0.05, 1), doc="weight of the newest score"
    )
    limits: str = setting("fixed", choices=("fixed", "exact"), doc="of which variance")
    sided: str = setting("one", choices=SIDES, doc="falls, or falls and rises")

    @property
    def monotone(self) -> bool:
        """A rise lifts z above a given target; behind a target of the past z may lag."""
        return self.target == "given" and self.sigma is not None and self.sided == "one"

    def chart(self) -> EwmaChart:
        """Give the chart of the exact theory; `UserError` if none applies."""
        self.require_exact()
        return EwmaChart(self.weight, self.sided, self.limits)

    def init(self, n_runs: int) -> State:
        """Start at a given target, else without a score."""
        start = self.mean if self.target == "given" else np.nan
        return State(np.full(n_runs, start), np.ones(n_runs), self.no_past(n_runs))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Smooth, then compare with the target."""
        score = observation.score
        assert score is not None
        past, (target, sigma) = self.look_back(state.past, score)
        smooth = (1 - self.weight) * state.smooth + self.weight * score
        if self.target != "given":
            smooth = np.where(np.isnan(state.smooth), score, smooth)
        statistic = standardised(target - smooth, sigma) / np.sqrt(self.weight / (2 - self.weight))
        start_share = state.start_share
        if self.limits == "exact":
            start_share = start_share * (1 - self.weight) ** 2
            statistic = statistic / np.sqrt(1 - start_share)
        if self.sided == "two":
            statistic = np.abs(statistic)
        # fmax: what is not known yet (NaN) is not judged
        return State(smooth, start_share, past), np.fmax(statistic, -np.inf)
