"""Fixed progress: stop every run at the same share of its planned training.

The statistic is the progress itself, its natural threshold `progress`.

Where it fails: it stops healthy and hacking runs alike, so its false-positive rate is whatever the
base rate makes it. It is the honest opponent of every rule that looks at the score: what would
shorter training have saved?

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.7], [0.5, 0.6]], progress=[[0.3, 0.65, 1.0], [0.3, 0.6]])
>>> first_alarm(scan(FixedProgress(), runs), threshold=0.65)
array([ 1, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import check_settings, setting


class State(NamedTuple):
    """Nothing to remember."""


@dataclass(frozen=True, slots=True)
class FixedProgress:
    """Stop at a fixed share of the planned training, at the first eval there.

    Parameters
    ----------
    progress : float
        Share of the planned training, in (0, 1].

    References
    ----------
    The StopAt baseline of EvalStop, arXiv:2606.04145, held to the evals.
    """

    name: ClassVar[str] = "fixed-progress"
    inputs: ClassVar[tuple[str, ...]] = ("progress",)
    progress: float = setting(0.65, low=0, high=1, tune=(0.05, 1), doc="share of the training")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def natural_threshold(self) -> float:
        """The share itself."""
        return self.progress

    def init(self, n_runs: int) -> State:
        """Start with nothing."""
        return State()

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Give the progress."""
        assert observation.progress is not None
        return state, observation.progress
