"""Loss plateau: stop when the training loss no longer falls.

The statistic is minus the relative fall of the training loss since the last eval; it fires when the
fall is smaller than `eps`.

Where it fails: it looks at the loss that is being optimised, which keeps falling while a run
over-optimises; it is blind to reward hacking (in the paper its recall is 38 %, its precision the
base rate).

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.7]] * 2, loss=[[1.0, 0.9, 0.899], [1.0, 0.9, 0.8]])
>>> rule = LossPlateau(eps=0.01)
>>> first_alarm(scan(rule, runs), rule.natural_threshold)
array([ 2, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import check_settings, setting


class State(NamedTuple):
    """Training loss at the last eval, NaN before the first, ``(n_runs,)``."""

    last: FloatArray


@dataclass(frozen=True, slots=True)
class LossPlateau:
    """Stop when the training loss falls by less than a share eps from eval to eval.

    Parameters
    ----------
    eps : float
        Smallest relative fall that counts as progress, per eval.

    References
    ----------
    The LossPlateau baseline of EvalStop, arXiv:2606.04145.
    """

    name: ClassVar[str] = "loss-plateau"
    inputs: ClassVar[tuple[str, ...]] = ("loss",)
    eps: float = setting(0.0233, tune=(1e-4, 0.3), log=True, doc="smallest relative fall per eval")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def natural_threshold(self) -> float:
        """Just above -eps: the fall is smaller than eps."""
        return float(np.nextafter(-self.eps, np.inf))

    def init(self, n_runs: int) -> State:
        """Start without a loss."""
        return State(np.full(n_runs, np.nan))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Compare with the loss at the eval before."""
        loss = observation.loss
        assert loss is not None
        scale = np.abs(state.last)
        rise = np.divide(loss - state.last, scale, out=np.zeros_like(loss), where=scale != 0)
        return State(loss), np.where(np.isnan(rise), -np.inf, rise)
