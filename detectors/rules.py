"""The one contract of the zoo, in its two kinds.

A detector is a frozen config. It gives a *statistic* after every eval: larger is more suspicious,
``-inf`` means that it cannot judge yet. The *threshold* is outside: alarm = statistic >= threshold.

- A *recursive* rule is a pure recurrence: ``init(n_runs) -> state`` and
  ``step(state, observation) -> (state, statistic)``; the state is a NamedTuple of arrays whose
  leading axis is the runs. Its arithmetic is elementwise, so one run and a batch agree bit for bit.
- A *prefix* rule is a function of all scores so far: ``statistic(prefix) -> (n_runs,)`` for a
  prefix of shape ``(n_runs, m)``. `Prefixed` gives it ``init`` and ``step``.

Neither ever sees a missing value: drivers skip an eval that lacks a declared input.

Besides ``name`` and ``inputs`` a detector may say more of itself, as a class attribute or, where it
depends on the settings, a property:

- ``natural_threshold``: the threshold of the rule's own definition (`natural_threshold`).
- ``monotone``: adding a non-decreasing trend to the scores can only lower the statistic, so that a
  threshold for flat noise holds for every healthy run (`is_monotone`).
- ``discrete``: the statistic takes few values, so that not every false-alarm rate can be attained
  (`is_discrete`).
- ``rank_based``: the statistic depends on the order of the scores only, so that on flat independent
  noise its law is that of random permutations, whatever the noise (`is_rank_based`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

from evalstop.detectors.observation import FloatArray, IntArray, Observation
from evalstop.detectors.settings import name_of
from evalstop.errors import UserError

# A NamedTuple of arrays, each with the runs as its leading axis. Its class differs from rule to
# rule, which no type of Python's can say.
State: TypeAlias = Any


@runtime_checkable
class RecursiveRule(Protocol):
    """A rule that needs only its last state."""

    def init(self, n_runs: int) -> State:
        """Give the state of runs that have no eval yet."""

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Take one eval of every run; give the new state and the statistic ``(n_runs,)``."""


@runtime_checkable
class PrefixRule(Protocol):
    """A rule that needs all scores so far."""

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Judge runs that all have `m` evals: ``(n_runs, m) -> (n_runs,)``."""


Detector: TypeAlias = RecursiveRule | PrefixRule
Threshold: TypeAlias = float | FloatArray


def inputs_of(detector: Detector) -> tuple[str, ...]:
    """Give the channels that a detector declares; the score if it says nothing."""
    return tuple(getattr(detector, "inputs", ("score",)))


def natural_threshold(detector: Detector) -> float | None:
    """Give the threshold that is part of the rule's own definition (k-decline's k), if any."""
    return cast("float | None", getattr(detector, "natural_threshold", None))


def is_monotone(detector: Detector) -> bool:
    """Tell whether adding a non-decreasing trend to the scores can only lower the statistic."""
    return bool(getattr(detector, "monotone", False))


def is_discrete(detector: Detector) -> bool:
    """Tell whether the statistic takes few values, also on scores that never tie."""
    return bool(getattr(detector, "discrete", False))


def is_rank_based(detector: Detector) -> bool:
    """Tell whether the statistic depends on nothing but the order of the scores."""
    return bool(getattr(detector, "rank_based", False))


def recursive(detector: Detector) -> RecursiveRule:
    """Give any detector as a recursive rule."""
    if isinstance(detector, RecursiveRule):
        return detector
    if isinstance(detector, PrefixRule):
        if len(inputs_of(detector)) != 1:
            raise UserError(f"{type(detector).__name__}: a prefix rule reads exactly one channel")
        return Prefixed(detector)
    raise UserError(
        f"{type(detector).__name__} is no detector: it has neither init and step nor statistic, "
        "see docs/add-a-detector.md"
    )


@contextmanager
def blamed(detector: Detector) -> Iterator[None]:
    """Turn whatever a detector raises into a `UserError` that names it."""
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        told = f"{type(error).__name__}: {error}"
        raise UserError(f"{name_of(detector)}: the detector fails ({told}), mend it") from error


def one_each(statistic: FloatArray, n_runs: int) -> FloatArray:
    """Give a statistic back if it is one number for each run; numpy would spread a lone one."""
    shape = np.shape(statistic)
    if shape != (n_runs,):
        raise ValueError(f"its statistic has shape {shape}, it must be ({n_runs},): one a run")
    return statistic


def check_statistic(detector: Detector, statistic: FloatArray) -> None:
    """Raise `UserError` if a statistic is NaN: no threshold could judge it."""
    if np.isnan(statistic).any():
        raise UserError(
            f"{name_of(detector)}: its statistic is NaN, it must never be NaN: "
            "-inf = cannot judge yet"
        )


class PrefixState(NamedTuple):
    """All evals so far: how many, and their values padded to a common capacity."""

    n_seen: IntArray
    history: FloatArray


@dataclass(frozen=True)
class Prefixed:
    """A prefix rule as a recursive one: it keeps the history, so its state grows with the run."""

    rule: PrefixRule

    def init(self, n_runs: int) -> PrefixState:
        """Start with an empty history."""
        return PrefixState(np.zeros(n_runs, dtype=np.int64), np.zeros((n_runs, 8)))

    def step(self, state: PrefixState, observation: Observation) -> tuple[PrefixState, FloatArray]:
        """Append one eval and judge the runs, grouped by how many evals they have."""
        n_seen, history = state.n_seen + 1, state.history.copy()
        capacity = history.shape[1]
        if n_seen.max(initial=0) > capacity:
            history = np.pad(history, ((0, 0), (0, capacity)))
        rows = np.arange(len(n_seen))
        history[rows, state.n_seen] = next(v for v in observation if v is not None)
        statistic = np.empty(len(n_seen))
        for m in np.unique(n_seen):
            group = n_seen == m
            prefix = np.ascontiguousarray(history[group, :m])
            statistic[group] = one_each(self.rule.statistic(prefix), len(prefix))
        return PrefixState(n_seen, history), statistic
