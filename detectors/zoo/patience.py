"""Patience: evals without a new best score, as in every trainer's early stopping.

The statistic is the number of evals since the earliest best score; its natural threshold is
`evals`. Reaching the best again (a tie) is no improvement.

Where it fails: noise alone sets records ever more rarely (the i-th eval of a flat curve is a record
with probability 1/i), so long healthy runs that have converged always end up stopped.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.55, 0.58, 0.59], [0.5, 0.6, 0.55, 0.58, 0.61]])
>>> first_alarm(scan(Patience(evals=3), runs), threshold=3)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import check_settings, setting


class State(NamedTuple):
    """Best score so far and evals since then, ``(n_runs,)`` each."""

    best: FloatArray
    since: FloatArray


@dataclass(frozen=True, slots=True)
class Patience:
    """Stop after some evals without a new best score.

    Parameters
    ----------
    evals : int
        Evals without improvement that make the natural threshold, at least 1.

    References
    ----------
    Prechelt (1998), "Early stopping - but when?", doi:10.1007/3-540-49430-8_3.
    """

    name: ClassVar[str] = "patience"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    monotone: ClassVar[bool] = True
    discrete: ClassVar[bool] = True
    rank_based: ClassVar[bool] = True
    evals: int = setting(3, low=1, tune=(1, 20), unit="evals", doc="evals without a new best")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def natural_threshold(self) -> float:
        """As many evals as `evals`."""
        return self.evals

    def init(self, n_runs: int) -> State:
        """Start without a best score: the first eval improves on it."""
        return State(np.full(n_runs, -np.inf), np.zeros(n_runs))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Count one more eval, or start again at a new best."""
        score = observation.score
        assert score is not None
        since = (state.since + 1) * (score <= state.best)
        return State(np.maximum(state.best, score), since), since
