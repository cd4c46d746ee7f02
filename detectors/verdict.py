"""What a monitor says of a run, and of many."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.observation import FloatArray, IntArray


class Verdict(NamedTuple):
    """What is known about one run after an eval.

    Parameters
    ----------
    statistic : float
        Statistic of the detector; ``-inf`` = it cannot judge yet.
    alarm : bool
        Whether the run should stop; stays true until `Monitor.reset`.
    alarm_step, best_step : number or None
        Step of the first alarm, and of the earliest best score: the checkpoint to keep.
    best_score : float or None
        That score.
    n_seen, n_missing : int
        Evals with all declared inputs, and evals that lacked one.
    missing_since : number or None
        Step since which no eval was usable; none while the last one was.
    """

    statistic: float
    alarm: bool
    alarm_step: float | None
    best_step: float | None
    best_score: float | None
    n_seen: int
    n_missing: int
    missing_since: float | None

    @property
    def word(self) -> str:
        """Say it in words."""
        if self.alarm:
            return "stop"
        if self.missing_since is not None:
            return f"no usable eval since step {self.missing_since:g}"
        return "go on"


class Verdicts(NamedTuple):
    """The verdicts of a fleet as arrays ``(n,)``; NaN where a `Verdict` says none."""

    statistic: FloatArray
    alarm: NDArray[np.bool_]
    alarm_step: FloatArray
    best_step: FloatArray
    best_score: FloatArray
    n_seen: IntArray
    n_missing: IntArray
    missing_since: FloatArray

    def one(self, i: int) -> Verdict:
        """Give one of them."""
        return Verdict(*(_plain(column[i]) for column in self))


def _plain(value: Any) -> Any:  # noqa: ANN401 - any numpy scalar
    """Give a numpy scalar as Python's: NaN as None, a whole number as int."""
    value = value.item()
    if value != value:  # noqa: PLR0124 - the fastest test for NaN
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value
