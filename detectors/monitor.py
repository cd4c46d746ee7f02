"""Streaming: one detector watches many runs, eval by eval, with the same recurrence as `scan`.

>>> from evalstop.detectors.zoo.k_decline import KDecline
>>> monitor = Monitor(KDecline(k=2), threshold=2)
>>> for step, score in enumerate([0.50, 0.61, 0.60, 0.58]):
...     verdict = monitor.update("run-7", score, step=100 * step)
>>> verdict.alarm, verdict.alarm_step, verdict.best_step
(True, 300, 100)
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstop.detectors.observation import (
    CHANNELS,
    LARGEST,
    FloatArray,
    IntArray,
    Observation,
)
from evalstop.detectors.rules import (
    Detector,
    State,
    Threshold,
    blamed,
    check_statistic,
    inputs_of,
    one_each,
    recursive,
)
from evalstop.detectors.scan import check_threshold, threshold_at
from evalstop.detectors.settings import name_of, spec_of
from evalstop.detectors.states import Rows, join, leaves, put, take
from evalstop.detectors.storage import from_json, to_json, write_atomically
from evalstop.detectors.verdict import Verdict, Verdicts
from evalstop.detectors.words import plural
from evalstop.errors import UserError

FORMAT = 1  # of the saved state; raised when its meaning changes


class Books(NamedTuple):
    """What a monitor remembers of each run beside the detector's state."""

    verdicts: Verdicts
    last: FloatArray  # (n_runs, channels): the last eval, to know a repeat


class Monitor:
    """Watch runs with one detector and one threshold.

    Parameters
    ----------
    detector : Detector
        A recursive or a prefix rule.
    threshold : float or array
        A constant, or a boundary indexed by usable evals seen; alarm = statistic >= threshold.
    late : {"raise", "drop"}
        What to do with an eval whose step is not after the run's last one. An exact repeat of the
        last eval is never late: it changes nothing.
    """

    def __init__(
        self, detector: Detector, threshold: Threshold, *, late: Literal["raise", "drop"] = "raise"
    ) -> None:
        self.detector = detector
        self.threshold = check_threshold(threshold)
        if late not in ("raise", "drop"):
            raise UserError(f"late: must be 'raise' or 'drop', got {late!r}")
        self.late = late
        self._rule = recursive(detector)
        self._inputs = inputs_of(detector)
        self._handles: dict[str, int] = {}
        with blamed(detector):
            self._state: State = self._rule.init(0)
        if not hasattr(self._state, "_fields"):
            raise UserError(f"{name_of(detector)}: init must give a NamedTuple of arrays")
        self._books = _blank(0)

    @property
    def runs(self) -> list[str]:
        """Names of the runs, in the order of their handles."""
        return list(self._handles)

    def handles(self, run_ids: Sequence[str]) -> IntArray:
        """Give the handles of runs for `update_many`; a new run is taken in."""
        known = self._handles
        for run_id in run_ids:
            known.setdefault(run_id, len(known))
        short = len(known) - len(self._books.last)
        if short > 0:
            room = max(short, len(self._books.last))  # grows by doubling
            self._state = join(self._state, self._rule.init(room))
            self._books = join(self._books, _blank(room))
        return np.array([known[r] for r in run_ids], dtype=np.int64)

    def update(  # noqa: PLR0913 - one argument for each channel
        self,
        run_id: str,
        score: float,
        *,
        step: float | None = None,
        loss: float | None = None,
        proxy: float | None = None,
        kl: float | None = None,
        progress: float | None = None,
    ) -> Verdict:
        """Take one eval of one run; see `update_many`."""
        row = self._handles.get(run_id)
        if row is None:
            row = int(self.handles([run_id])[0])
        given = (score, loss, proxy, kl, progress, step)
        evals = np.array([[np.nan if v is None else v for v in given]], dtype=float)
        absent = tuple(c for c, v in zip(CHANNELS, given, strict=True) if v is None)
        return self._update(slice(row, row + 1), evals, absent).one(0)

    def update_many(  # noqa: PLR0913 - one argument for each channel
        self,
        handles: ArrayLike,
        score: ArrayLike,
        *,
        step: ArrayLike | None = None,
        loss: ArrayLike | None = None,
        proxy: ArrayLike | None = None,
        kl: ArrayLike | None = None,
        progress: ArrayLike | None = None,
    ) -> Verdicts:
        """Take one eval of each of many runs.

        Parameters
        ----------
        handles : int array (n,)
            What `handles` gave; each run at most once.
        score : array (n,)
            Scores, higher is better; NaN = the eval gave no usable number.
        step : array (n,), optional
            Training steps; default: the number of evals so far.
        loss, proxy, kl, progress : array (n,), optional
            Further channels, see `Observation`.

        Raises
        ------
        UserError
            If a value is infinite or beyond 1e100, a declared channel is not given, or
            (``late="raise"``) a step is not after the run's last one. Nothing has changed then.
        """
        rows = np.asarray(handles, dtype=None if np.size(handles) else np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise UserError("handles: must be whole numbers (n,), as handles() gives them")
        if len(rows) and (rows.min() < 0 or rows.max() >= len(self._handles)):
            raise UserError("handles: a run is not known here, get its handle from handles()")
        if len(np.unique(rows)) < len(rows):
            raise UserError("handles: a run comes twice, give its evals one after the other")
        given = (score, loss, proxy, kl, progress, step)
        evals = np.full((len(rows), len(CHANNELS)), np.nan)
        for name, column, values in zip(CHANNELS, evals.T, given, strict=True):
            if values is not None:
                column[:] = _channel(name, values, len(rows))
        absent = tuple(c for c, v in zip(CHANNELS, given, strict=True) if v is None)
        everything = len(rows) == len(self._books.last) and np.array_equal(
            rows, np.arange(len(rows))
        )
        return self._update(slice(None) if everything else rows, evals, absent)

    def reset(self, run_id: str) -> None:
        """Forget a run's evals and its alarm; it starts anew."""
        if run_id not in self._handles:
            raise UserError(f"{run_id}: is not watched here")
        row = slice(self._handles[run_id], self._handles[run_id] + 1)
        self._state = put(self._state, row, self._rule.init(1))
        self._books = put(self._books, row, _blank(1))

    def _update(self, rows: Rows, evals: FloatArray, absent: tuple[str, ...]) -> Verdicts:
        """Take the evals ``(n, channels)`` of some rows."""
        books: Books = take(self._books, rows)
        old = books.verdicts
        step = evals[:, -1]
        if "step" in absent:
            step[:] = old.n_seen + old.n_missing
        for channel in self._inputs:
            if channel in absent and channel != "step":
                raise UserError(f"{channel}: the detector reads it, give it with every eval")
        huge = np.abs(evals) > LARGEST
        if huge.any():
            raise UserError(
                f"{self._name(rows, huge)}: an eval is beyond {LARGEST:g}, give NaN instead"
            )
        if np.isnan(step).any():
            raise UserError(f"{self._name(rows, np.isnan(step))}: an eval has no step")
        stale = step <= books.last[:, -1]
        if stale.any():
            # An exact repeat is a no-op, whatever `late` says.
            repeat = ((evals == books.last) | (np.isnan(evals) & np.isnan(books.last))).all(axis=1)
            if self.late == "raise" and (stale & ~repeat).any():
                late = stale & ~repeat
                raise UserError(
                    f"{self._name(rows, late)}: step {step[late][0]:g} is not after the last one, "
                    "use late='drop' or reset the run"
                )
            kept = np.arange(len(self._books.last))[rows][~stale]
            self._update(kept, evals[~stale], ())
            now: Books = take(self._books, np.arange(len(self._books.last))[rows])
            return now.verdicts
        observation = Observation(**{c: evals[:, CHANNELS.index(c)] for c in self._inputs})
        usable = np.logical_and.reduce([~np.isnan(v) for v in observation if v is not None])
        if usable.all():
            state, statistic = self._step(take(self._state, rows), observation)
            self._state = put(self._state, rows, state)
        else:
            statistic = old.statistic.copy()
            some = np.arange(len(self._books.last))[rows][usable]
            seen = Observation(*(None if v is None else v[usable] for v in observation))
            if len(some):
                state, statistic[usable] = self._step(take(self._state, some), seen)
                self._state = put(self._state, some, state)
        n_seen = old.n_seen + usable
        fires = usable & (statistic >= threshold_at(self.threshold, n_seen)) & ~old.alarm
        score = evals[:, 0]
        better = ~(score <= old.best_score) & ~np.isnan(score)  # true against no best (NaN) too
        verdicts = Verdicts(
            statistic,
            old.alarm | fires,
            np.where(fires, step, old.alarm_step),
            np.where(better, step, old.best_step),
            np.where(better, score, old.best_score),
            n_seen,
            old.n_missing + ~usable,
            np.where(usable, np.nan, np.fmin(old.missing_since, step)),
        )
        self._books = put(self._books, rows, Books(verdicts, evals))
        return verdicts

    def _step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Let the rule take a step; what it does wrong changes nothing here."""
        with blamed(self.detector):
            state, statistic = self._rule.step(state, observation)
            one_each(statistic, len(next(v for v in observation if v is not None)))
        check_statistic(self.detector, statistic)
        return state, statistic

    def _name(self, rows: Rows, which: NDArray[np.bool_]) -> str:
        """Name the first run concerned."""
        first = np.argwhere(which)[0, 0]
        return self.runs[int(np.arange(len(self._books.last))[rows][first])]

    def save(self, path: str | Path) -> None:
        """Write `to_json` to a file, under a temporary name first."""
        write_atomically(path, self.to_json())

    def to_json(self) -> str:
        """Give all state as strict JSON (infinities and NaN as strings)."""
        n = len(self._handles)
        told = {
            "format": FORMAT,
            "detector": spec_of(self.detector),
            "threshold": to_json(self.threshold),
            "runs": self.runs,
            "state": to_json(take(self._state, slice(0, n))),
            "books": to_json(take(self._books, slice(0, n))),
        }
        return json.dumps(told, allow_nan=False)

    @classmethod
    def load(
        cls,
        path: str | Path,
        detector: Detector,
        threshold: Threshold,
        *,
        late: Literal["raise", "drop"] = "raise",
    ) -> "Monitor":
        """Go on from a file that `save` wrote; `UserError` names the file and what is wrong."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from error
        try:
            return cls.from_json(text, detector, threshold, late=late)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error

    @classmethod
    def from_json(
        cls,
        text: str,
        detector: Detector,
        threshold: Threshold,
        *,
        late: Literal["raise", "drop"] = "raise",
    ) -> "Monitor":
        """Go on from a saved state; `UserError` if it is of another detector or threshold."""
        monitor = cls(detector, threshold, late=late)
        ours = {"detector": spec_of(detector), "threshold": to_json(monitor.threshold)}
        try:
            told = json.loads(text)
            if told["format"] != FORMAT:
                raise UserError(f"saved in format {told['format']}, this version reads {FORMAT}")
            for what, value in ours.items():
                if told[what] != value:
                    raise UserError(f"saved with another {what}, start a new file")
            monitor._handles = {str(run): i for i, run in enumerate(told["runs"])}
            monitor._state = from_json(told["state"], monitor._rule.init(0))
            monitor._books = from_json(told["books"], _blank(0))
        except UserError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError("is no saved monitor, or a damaged one: start a new file") from error
        if {len(a) for a in leaves((monitor._state, monitor._books))} - {len(told["runs"])}:
            raise UserError("saved state is damaged: lengths differ, start a new file")
        return monitor


def _blank(n: int) -> Books:
    """Give the books of runs that have no eval yet."""
    return Books(
        Verdicts(
            statistic=np.full(n, -np.inf),
            alarm=np.zeros(n, dtype=bool),
            alarm_step=np.full(n, np.nan),
            best_step=np.full(n, np.nan),
            best_score=np.full(n, np.nan),
            n_seen=np.zeros(n, dtype=np.int64),
            n_missing=np.zeros(n, dtype=np.int64),
            missing_since=np.full(n, np.nan),
        ),
        np.full((n, len(CHANNELS)), np.nan),
    )


def _channel(name: str, values: ArrayLike, n: int) -> FloatArray:
    """Give the values of a channel ``(n,)``; a single number, a common step say, stands for all."""
    try:
        array = np.asarray(values, dtype=float)
    except (ValueError, TypeError) as error:
        raise UserError(f"{name}: must be numbers ({error})") from error
    if array.shape not in ((), (n,)):
        raise UserError(f"{name}: has shape {array.shape}, there are {plural(n, 'run')}")
    return array
