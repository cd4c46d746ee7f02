"""Runs with what their stops are scored against: made by a simulated world or from labelled curves.

Detectors never see `LabelledRuns`: they see `evalstop.detectors.Runs`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.errors import UserError
from evalstop.simulator.truth import Population

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelledRuns:
    """What scoring knows of ``n`` runs of up to ``m`` evals.

    Parameters
    ----------
    kind : str array (n,)
        ``hacking``: its true score falls after a peak, so that it should be stopped; ``healthy``: a
        run of the same type that should not; any other word (``lora``, ``dpo``): another job.
    peak : array (n,)
        Progress of the true peak p* of hacking runs, in [0, 1]; not read for other runs.
    progress : array (n, m)
        Share of its training that a run has done at each eval, in [0, 1], never falling.
    observed, true : array (n, m)
        Score at each eval as it was measured (NaN = missing) and without noise; higher is better.
    n_evals : int array (n,)
        How many evals each run has; what is behind them is padding.
    stoppable : bool array (n,)
        Which runs may be stopped: an alarm on any other counts as none.
    gpu_hours : array (n,)
        GPU-time of the whole run: the weight of what a stop saves.
    estimated : bool
        Whether `peak` and `true` are estimates from the observed scores.

    Raises
    ------
    UserError
        If shapes differ, or a hacking run has no peak in [0, 1].
    """

    kind: NDArray[np.str_]
    peak: FloatArray
    progress: FloatArray
    observed: FloatArray
    true: FloatArray
    n_evals: IntArray
    stoppable: BoolArray
    gpu_hours: FloatArray
    estimated: bool = False

    def __post_init__(self) -> None:
        shape = self.observed.shape
        if len(shape) != 2 or shape[1] == 0:
            raise UserError(f"observed: must have shape (n_runs, n_evals), got {shape}")
        for name in ("progress", "true"):
            _check_shape(name, getattr(self, name), shape)
        for name in ("kind", "peak", "n_evals", "stoppable", "gpu_hours"):
            _check_shape(name, getattr(self, name), shape[:1])
        peak = self.peak[self.hacking]
        if not ((peak >= 0) & (peak <= 1)).all():
            raise UserError("peak: every hacking run needs its peak, between 0 and 1")

    @classmethod
    def of_world(
        cls,
        drawn: Population,
        gpu_hours: FloatArray | None = None,
        stop_types: Sequence[str] = ("RLHF",),
    ) -> "LabelledRuns":
        """Take the runs that a simulated world has drawn, with their truth.

        Parameters
        ----------
        drawn : Population
            From a world, or behind the jobs of a scenario.
        gpu_hours : array (n,), optional
            GPU-time of each whole run; default: all weigh the same.
        stop_types : sequence of str
            Types of job that may be stopped.
        """
        runs, truth = drawn.runs, drawn.truth
        other = np.where(np.equal(truth.kind, "RLHF"), "healthy", np.strings.lower(truth.kind))
        assert runs.progress is not None
        return cls(
            kind=np.where(truth.hacking, "hacking", other),
            peak=truth.peak,
            progress=runs.progress,
            observed=runs.score,
            true=truth.true_score,
            n_evals=runs.n_evals,
            stoppable=np.isin(truth.kind, list(stop_types)),
            gpu_hours=np.ones(len(drawn)) if gpu_hours is None else gpu_hours,
        )

    @classmethod
    def join(cls, parts: Sequence["LabelledRuns"]) -> "LabelledRuns":
        """Put populations of equally many evals one after the other."""
        return cls(
            **{name: np.concatenate([getattr(p, name) for p in parts]) for name in _COLUMNS},
            estimated=any(p.estimated for p in parts),
        )

    def __len__(self) -> int:
        return len(self.observed)

    def take(self, rows: IntArray) -> "LabelledRuns":
        """Give some of the runs."""
        taken = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return LabelledRuns(**taken, estimated=self.estimated)

    @property
    def hacking(self) -> BoolArray:
        """Which runs should be stopped: the positives."""
        return np.equal(self.kind, "hacking")

    @property
    def healthy(self) -> BoolArray:
        """Which runs of the same type should go on."""
        return np.equal(self.kind, "healthy")

    @property
    def valid(self) -> BoolArray:
        """Which evals are no padding, ``(n, m)``."""
        valid: BoolArray = np.arange(self.observed.shape[1]) < self.n_evals[:, None]
        return valid


_COLUMNS = tuple(f.name for f in fields(LabelledRuns) if f.name != "estimated")


def _check_shape(name: str, values: NDArray[np.generic], shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise UserError(f"{name}: has shape {values.shape}, it must have {shape}")
