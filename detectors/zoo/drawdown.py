"""Drawdown: how far the score has fallen below its best.

The statistic is ``max(x[1..t]) - x[t]``, in units of the score.

Where it fails: the best of many noisy evals is too high by luck, so the drawdown of a long flat run
grows like sigma sqrt(2 ln t); and the threshold must know the scale of the metric.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.55, 0.47], [0.5, 0.6, 0.55, 0.58]])
>>> first_alarm(scan(Drawdown(), runs), threshold=0.1)
array([ 3, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray, Observation


class State(NamedTuple):
    """Best score so far, ``(n_runs,)``."""

    best: FloatArray


@dataclass(frozen=True, slots=True)
class Drawdown:
    """Watch how far the score is below its best so far.

    References
    ----------
    Taylor (1975), "A stopped Brownian motion formula", doi:10.1214/aop/1176996452 (the law of the
    drawdown stopping time).
    """

    name: ClassVar[str] = "drawdown"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    monotone: ClassVar[bool] = True

    def init(self, n_runs: int) -> State:
        """Start without a best score."""
        return State(np.full(n_runs, -np.inf))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Compare with the best so far."""
        score = observation.score
        assert score is not None
        best = np.maximum(state.best, score)
        return State(best), best - score
