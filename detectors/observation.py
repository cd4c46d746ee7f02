"""What a detector may see: one record of channels, and the runs that a scan reads.

A detector declares in ``inputs`` which channels it reads; it is handed those and nothing else. No
object here refers to what only a simulated world knows (is the run hacking, where is its peak).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstop.detectors.settings import nearest
from evalstop.detectors.words import plural
from evalstop.errors import UserError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CHANNELS = ("score", "loss", "proxy", "kl", "progress", "step")
# Up to here every detector can square a value, over the smallest sigma, without overflow.
LARGEST = 1e100


class Observation(NamedTuple):
    """One eval of many runs: arrays of shape ``(n_runs,)``; ``None`` = not declared, not given.

    Parameters
    ----------
    score : array or None
        Eval score, turned so that higher is better.
    loss, proxy, kl : array or None
        Training loss, proxy reward and KL from the reference policy, the last value logged at or
        before the eval.
    progress : array or None
        Share of the planned training done, in [0, 1].
    step : array or None
        Training step of the eval.
    """

    score: FloatArray | None = None
    loss: FloatArray | None = None
    proxy: FloatArray | None = None
    kl: FloatArray | None = None
    progress: FloatArray | None = None
    step: FloatArray | None = None


def _numbers(name: str, values: ArrayLike) -> FloatArray:
    """Give an array of floats, the caller's own where it is one."""
    try:
        return np.asarray(values, dtype=float)
    except (ValueError, TypeError) as error:
        raise UserError(
            f"{name}: must be numbers (n_runs, n_evals), curves of different lengths go to "
            f"Runs.of ({error})"
        ) from error


@dataclass(frozen=True, eq=False)
class Runs:
    """Eval curves of many runs, padded to the longest: arrays of shape ``(n_runs, n_evals)``.

    Parameters
    ----------
    score : array (n_runs, n_evals)
        Eval scores, higher is better; NaN = missing (the eval gave no usable number).
    n_evals : array (n_runs,), optional
        How many evals each run has (its padding starts there); default: all columns.
    loss, proxy, kl, progress, step : array (n_runs, n_evals), optional
        Further channels, see `Observation`.

    Raises
    ------
    UserError
        If shapes differ, a value is infinite or beyond 1e100, or a length is impossible.
    """

    score: FloatArray
    n_evals: IntArray = field(default_factory=lambda: np.array(-1))
    loss: FloatArray | None = None
    proxy: FloatArray | None = None
    kl: FloatArray | None = None
    progress: FloatArray | None = None
    step: FloatArray | None = None

    def __post_init__(self) -> None:
        score = _numbers("score", self.score)
        if score.ndim != 2:
            raise UserError(f"score: must have shape (n_runs, n_evals), got shape {score.shape}")
        longest = score.shape[1]
        given = np.asarray(self.n_evals)
        if given.ndim == 0:  # not given
            given = np.full(len(score), longest)
        if given.shape != score.shape[:1] or np.any(given < 0) or np.any(given > longest):
            raise UserError(
                f"n_evals: must hold {plural(len(score), 'length')} between 0 and {longest}"
            )
        object.__setattr__(self, "n_evals", given.astype(np.int64))
        for name in CHANNELS:
            values = getattr(self, name)
            if values is None:
                continue
            values = _numbers(name, values)
            if values.shape != score.shape:
                raise UserError(f"{name}: has shape {values.shape}, the scores have {score.shape}")
            # fmax and fmin pass over NaN, and make no array on the way
            highest, lowest = (f.reduce(values, axis=None, initial=0) for f in (np.fmax, np.fmin))
            if max(highest, -lowest) > LARGEST:
                raise UserError(f"{name}: has a value beyond {LARGEST:g}, write NaN (missing)")
            object.__setattr__(self, name, values)

    def __len__(self) -> int:
        return len(self.score)

    @classmethod
    def of(cls, scores: Sequence[ArrayLike], **channels: Sequence[ArrayLike]) -> "Runs":
        """Pad curves of different lengths: ``Runs.of([[.1, .2], [.3]], loss=[[2, 1], [3]])``."""
        lengths = np.array([len(np.asarray(s)) for s in scores], dtype=np.int64)
        longest = int(lengths.max(initial=0))

        def pad(name: str, curves: Sequence[ArrayLike]) -> FloatArray:
            padded = np.full((len(lengths), longest), np.nan)
            for row, curve, length in zip(padded, curves, lengths, strict=True):
                values = np.asarray(curve, dtype=float)
                if values.shape != (length,):
                    raise UserError(
                        f"{name}: has {plural(len(values), 'value')} for a run of "
                        f"{plural(int(length), 'eval')}"
                    )
                row[:length] = values
            return padded

        padded = {name: pad(name, curves) for name, curves in channels.items()}
        return cls(pad("score", scores), lengths, **padded)

    def take(self, rows: NDArray[np.bool_] | IntArray) -> "Runs":
        """Give some of the runs."""
        channels = {c: v[rows] for c in CHANNELS if (v := getattr(self, c)) is not None}
        return Runs(n_evals=self.n_evals[rows], **channels)

    def channels(self, inputs: Iterable[str]) -> dict[str, FloatArray]:
        """Give the declared channels; `UserError` if one is unknown or not in the data."""
        found = {}
        for name in inputs:
            if name not in CHANNELS:
                raise UserError(f"there is no channel {name!r}, {nearest(name, CHANNELS)}")
            values = getattr(self, name)
            if values is None:
                raise UserError(f"{name}: the detector reads it, the runs do not have it; add it")
            found[name] = values
        return found

    def usable(self, inputs: Iterable[str], rows: slice = slice(None)) -> NDArray[np.bool_]:
        """Tell which evals have all of `inputs`: not padding, not missing. (n_runs, n_evals)."""
        usable = np.arange(self.score.shape[1]) < self.n_evals[rows, None]
        for values in self.channels(inputs).values():
            usable &= ~np.isnan(values[rows])
        return usable
