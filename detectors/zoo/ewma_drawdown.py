"""Drawdown of the smoothed score.

``z[1] = x[1]``, ``z[t] = (1 - weight) z[t-1] + weight x[t]``; the statistic is
``max(z[1..t]) - z[t]``. Smoothing trades delay for noise: the variance of z is about
``weight / (2 - weight)`` of that of a score.

Where it fails: a small weight answers late, so on runs of few evals it saves little; the threshold
must know the scale of the metric. With ``weight=1`` it is the plain drawdown.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.7, 0.5, 0.4], [0.5, 0.7, 0.6, 0.7]])
>>> first_alarm(scan(EwmaDrawdown(weight=0.5), runs), threshold=0.1)
array([ 3, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import check_settings, setting


class State(NamedTuple):
    """Smoothed score (NaN before the first eval) and its best, ``(n_runs,)`` each."""

    smooth: FloatArray
    best: FloatArray


@dataclass(frozen=True, slots=True)
class EwmaDrawdown:
    """Watch how far the smoothed score is below its best so far.

    Parameters
    ----------
    weight : float
        Weight of the newest score, in (0, 1].

    References
    ----------
    Roberts (1959), "Control chart tests based on geometric moving averages",
    doi:10.1080/00401706.1959.10489860 (the smoother).
    """

    name: ClassVar[str] = "ewma-drawdown"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    monotone: ClassVar[bool] = True
    weight: float = setting(0.5, low=1e-6, high=1, tune=(0.05, 1), doc="weight of the newest score")

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, n_runs: int) -> State:
        """Start without a score."""
        return State(np.full(n_runs, np.nan), np.full(n_runs, -np.inf))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Smooth, then compare with the best so far."""
        score = observation.score
        assert score is not None
        smooth = (1 - self.weight) * state.smooth + self.weight * score
        smooth = np.where(np.isnan(smooth), score, smooth)
        best = np.maximum(state.best, smooth)
        return State(smooth, best), best - smooth
