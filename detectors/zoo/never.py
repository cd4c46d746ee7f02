"""Never stop: what doing nothing is worth.

Its statistic is a constant, so it tells nothing about a run, and its natural threshold is never
reached. On many change-point benchmarks doing nothing beats badly set methods, so it has a row in
every table.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> first_alarm(scan(Never(), Runs.of([[0.9, 0.5, 0.1]])), Never().natural_threshold)
array([-1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray, Observation


class State(NamedTuple):
    """Nothing to remember."""


@dataclass(frozen=True, slots=True)
class Never:
    """Let every run go on to its end.

    References
    ----------
    van den Burg & Williams (2020), arXiv:2003.06222 (the "zero" method).
    """

    name: ClassVar[str] = "never"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    monotone: ClassVar[bool] = True
    discrete: ClassVar[bool] = True
    natural_threshold: ClassVar[float] = np.inf

    def init(self, n_runs: int) -> State:
        """Start with nothing."""
        return State()

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Give the constant."""
        assert observation.score is not None
        return state, np.zeros(len(observation.score))
