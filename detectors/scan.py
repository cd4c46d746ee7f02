"""Batch: the statistic of one detector at every eval of many runs, and the first alarms."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstop.detectors.observation import FloatArray, IntArray, Observation, Runs
from evalstop.detectors.rules import (
    Detector,
    PrefixRule,
    RecursiveRule,
    blamed,
    check_statistic,
    inputs_of,
    one_each,
    recursive,
)
from evalstop.errors import UserError

# Runs of one block: a step then works on arrays that stay in the cache.
BLOCK = 12288


def scan(detector: Detector, runs: Runs) -> FloatArray:
    """Give the statistic after every eval; equal to feeding a `Monitor` eval by eval.

    Missing evals are handled here, once: the usable evals of each run are packed to the left, the
    rule sees only those, and a missing eval carries the statistic of the one before it.

    Parameters
    ----------
    detector : Detector
        A recursive or a prefix rule.
    runs : Runs
        ``n_runs`` curves of up to ``n_evals`` evals.

    Returns
    -------
    array (n_runs, n_evals)
        ``-inf`` where the rule cannot judge yet, and in the padding.

    Raises
    ------
    UserError
        If the runs lack a channel that the detector declares, or the detector fails or gives NaN.
    """
    inputs = inputs_of(detector)
    channels = runs.channels(inputs)
    # One eval of all runs is contiguous, here and in the blocks: a step is then several times
    # faster than on columns of a matrix with one run a row.
    statistics = np.empty(runs.score.T.shape).T
    for start in range(0, len(runs), BLOCK):
        rows = slice(start, start + BLOCK)
        block = {name: values[rows] for name, values in channels.items()}
        complete = (runs.n_evals[rows] == runs.score.shape[1]).all()
        if complete and not any(np.isnan(values).any() for values in block.values()):
            _scan_complete(detector, block, statistics[rows])
        else:
            _scan_gaps(detector, block, runs.usable(inputs, rows), statistics[rows])
            statistics[rows][np.arange(runs.score.shape[1]) >= runs.n_evals[rows, None]] = -np.inf
        check_statistic(detector, statistics[rows])
    return statistics


def _scan_gaps(
    detector: Detector, channels: dict[str, FloatArray], usable: NDArray[np.bool_], out: FloatArray
) -> None:
    """Scan runs with missing evals: pack the usable ones to the left, carry the statistic."""
    seen = usable.cumsum(axis=1)
    order = np.argsort(~usable, axis=1, kind="stable")
    # Behind its last usable eval a packed run repeats that value: computed and never read.
    last = np.minimum(np.arange(usable.shape[1]), np.maximum(seen[:, -1:] - 1, 0))
    order = np.take_along_axis(order, last, axis=1)
    packed = {c: np.nan_to_num(np.take_along_axis(v, order, axis=1)) for c, v in channels.items()}
    _scan_complete(detector, packed, out)
    out[:] = np.take_along_axis(out, np.maximum(seen - 1, 0), axis=1)
    out[seen == 0] = -np.inf


def _scan_complete(detector: Detector, channels: dict[str, FloatArray], out: FloatArray) -> None:
    """Scan runs that all have all evals."""
    n_runs, n_evals = out.shape
    if isinstance(detector, PrefixRule) and not isinstance(detector, RecursiveRule):
        (values,) = channels.values()
        for m in range(1, n_evals + 1):
            with blamed(detector):
                out[:, m - 1] = one_each(detector.statistic(_read_only(values[:, :m])), n_runs)
        return
    rule = recursive(detector)
    by_eval = {name: _read_only(values.T) for name, values in channels.items()}
    with blamed(detector):
        state = rule.init(n_runs)
        for i in range(n_evals):
            observation = Observation(**{name: values[i] for name, values in by_eval.items()})
            state, statistic = rule.step(state, observation)
            out[:, i] = one_each(statistic, n_runs)


def _read_only(values: FloatArray) -> FloatArray:
    """Give a contiguous view or copy that a detector cannot write to: it may be the caller's."""
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


def check_threshold(threshold: ArrayLike) -> FloatArray:
    """Give a threshold as an array: of no axis (a constant) or one (a boundary over evals)."""
    values = np.asarray(threshold, dtype=float)
    if values.ndim > 1 or values.size == 0 or np.isnan(values).any():
        raise UserError("threshold: must be a number, or one number for each eval seen")
    return values


def threshold_at(threshold: FloatArray, n_seen: IntArray) -> FloatArray:
    """Give the threshold after `n_seen` usable evals; past its end a boundary stays level."""
    if threshold.ndim == 0:
        return threshold
    return threshold[np.clip(n_seen, 1, len(threshold)) - 1]


def first_alarm(
    statistics: FloatArray, threshold: ArrayLike, n_seen: IntArray | None = None
) -> IntArray:
    """Give the index of the first eval whose statistic is at or above the threshold, -1 if none.

    Parameters
    ----------
    statistics : array (n_runs, n_evals)
        What `scan` gives.
    threshold : float or array (horizon,)
        A constant, or a boundary indexed by the usable evals seen.
    n_seen : array (n_runs, n_evals), optional
        Usable evals seen, for a boundary on runs with missing evals
        (``runs.usable(inputs).cumsum(1)``); default: every eval is usable.

    Returns
    -------
    int array (n_runs,)
    """
    if n_seen is None:
        n_seen = np.arange(1, statistics.shape[1] + 1)
    return first_true(statistics >= threshold_at(check_threshold(threshold), n_seen))


def first_true(fires: NDArray[np.bool_]) -> IntArray:
    """Give the column of the first true value in each row, -1 if none."""
    if fires.shape[1] == 0:
        return np.full(len(fires), -1)
    first = fires.argmax(axis=1)
    return np.where(fires[np.arange(len(fires)), first], first, -1)
