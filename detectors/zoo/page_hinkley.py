"""Page-Hinkley test for a fall of the mean.

``m[t] = sum over i <= t of (mean of x[1..i] - x[i] - delta)``; the statistic is
``m[t] - min(m[0..t])``, in units of the score: a CUSUM whose target is the running mean.

Where it fails: on a rising curve the running mean lags far below the score, so a fall that stays
above it counts as an improvement; and the threshold must know the scale of the metric.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.3, 0.2], [0.5, 0.6, 0.5, 0.6]])
>>> first_alarm(scan(PageHinkley(), runs), threshold=0.3)
array([ 3, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import check_settings, setting


class State(NamedTuple):
    """Evals so far, their mean, m and its minimum, ``(n_runs,)`` each."""

    n_seen: FloatArray
    mean: FloatArray
    total: FloatArray
    lowest: FloatArray


@dataclass(frozen=True, slots=True)
class PageHinkley:
    """Watch the summed fall below the running mean (Page-Hinkley).

    Parameters
    ----------
    delta : float
        Fall per eval that is tolerated, in units of the score, at least 0.
    min_evals : int
        Evals before it judges.

    References
    ----------
    Page (1954), "Continuous inspection schemes", doi:10.1093/biomet/41.1-2.100; Hinkley (1971),
    "Inference about the change-point from cumulative sum tests", doi:10.1093/biomet/58.3.509.
    """

    name: ClassVar[str] = "page-hinkley"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    monotone: ClassVar[bool] = True
    delta: float = setting(0.005, low=0, tune=(0, 0.1), doc="tolerated fall per eval")
    min_evals: int = setting(1, low=1, unit="evals", doc="evals before it judges")

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, n_runs: int) -> State:
        """Start at zero."""
        return State(*np.zeros((4, n_runs)))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Add one deviation from the running mean."""
        score = observation.score
        assert score is not None
        n_seen = state.n_seen + 1
        mean = state.mean + (score - state.mean) / n_seen
        total = state.total + (mean - score - self.delta)
        lowest = np.minimum(state.lowest, total)
        statistic = total - lowest
        if self.min_evals > 1:
            statistic[n_seen < self.min_evals] = -np.inf
        return State(n_seen, mean, total, lowest), statistic
