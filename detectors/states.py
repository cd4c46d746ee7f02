"""States as one thing: a NamedTuple of arrays with one run a row, or of such NamedTuples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.observation import IntArray
from evalstop.detectors.rules import State

Rows = slice | IntArray


def leaves(state: State) -> list[NDArray[Any]]:
    """List the arrays of a state."""
    if isinstance(state, tuple):
        return [leaf for part in state for leaf in leaves(part)]
    return [state]


def take(state: State, rows: Rows) -> State:
    """Give the state of some runs: views for a slice."""
    if isinstance(state, tuple):
        return type(state)(*(take(part, rows) for part in state))
    return state[rows]


def join(first: State, second: State) -> State:
    """Put the runs of `second` behind those of `first`."""
    if isinstance(first, tuple):
        return type(first)(*(join(a, b) for a, b in zip(first, second, strict=True)))
    return np.concatenate([_wide(first, second), _wide(second, first)])


def put(state: State, rows: Rows, part: State) -> State:
    """Write the state of some runs back, in place where their shapes agree."""
    if isinstance(state, tuple):
        return type(state)(*(put(a, rows, b) for a, b in zip(state, part, strict=True)))
    state = _wide(state, part)
    state[rows] = _wide(part, state)
    return state


def _wide(array: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Widen the second axis to that of `other` (histories of prefix rules grow)."""
    if array.ndim < 2 or array.shape[1] >= other.shape[1]:
        return array
    return np.pad(array, ((0, 0), (0, other.shape[1] - array.shape[1])))
