"""Tune a rule: search on train runs, choose on validation runs, show on held-out runs."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from evalstop.detectors.settings import name_of, nearest, spec_of
from evalstop.detectors.words import plural
from evalstop.errors import UserError
from evalstop.studies.cell import SCHEMA, describe
from evalstop.studies.detection import Judged
from evalstop.studies.store import Store
from evalstop.studies.thresholds import Matched, Natural, Threshold
from evalstop.studies.tuning.goal import Goal
from evalstop.studies.tuning.measure import Advance, Bench, Resampled, resampled
from evalstop.studies.tuning.places import PARTS, TRAIN, VALIDATION, Place
from evalstop.studies.tuning.space import Axis, Params, Space
from evalstop.studies.tuning.storage import open_storage
from evalstop.studies.tuning.trials import (
    SAMPLERS,
    Direction,
    Measured,
    Search,
    Told,
    choose_sampler,
    finite,
)

JOURNAL = "trials.journal"
RATE = "threshold.fpr"  # where scores stand against each other, how eager a rule is is searched too
RATES = (0.002, 0.3)
MOST_CHOSEN = 10  # of a Pareto front, spread over it


@dataclass(frozen=True)
class Tuning:
    """What is tuned, for what, where.

    Parameters
    ----------
    space : Space
        The detector and the fields that are searched.
    goal : Goal
        What is wanted.
    places : tuple of Place
        Worlds or curves.
    sampler : str
        One of `SAMPLERS`.
    trials : int
        How many settings are tried, or all if there are fewer.
    seed : int
        Of everything random.
    """

    space: Space
    goal: Goal
    places: tuple[Place, ...]
    sampler: str = "auto"
    trials: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (("trials", self.trials, 1), ("seed", self.seed, 0)):
            if value < least:
                raise UserError(f"{name}: must be at least {least}, got {value}")
        if self.sampler not in SAMPLERS:
            raise UserError(
                f"there is no sampler {self.sampler!r}, {nearest(self.sampler, SAMPLERS)}"
            )
        if not self.axes:
            raise UserError(
                f"{spec_of(self.space.base)}: no field is left to search; give one a range, "
                "NAME:field=low..high, or several objectives, saved,fpr,delay"
            )

    @cached_property
    def own_threshold(self) -> bool:
        """Whether the rule's own threshold is what is tuned; otherwise it is matched to a rate."""
        return self.space.sets_threshold

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Everything that is searched."""
        if self.goal.single or self.own_threshold:
            return self.space.axes
        low, high = max(RATES[0], self._least_rate), RATES[1]
        if low >= high:
            raise UserError(
                f"{self.goal.told()}: rates up to {high:g} are searched, "
                f"{plural(round(1 / low), 'run')} that should go on cannot tell them, add some"
            )
        return (*self.space.axes, Axis(RATE, low, high, log=True))

    @property
    def _least_rate(self) -> float:
        """Give the least rate of false alarms that the runs of all places support."""
        return 1 / min(place.n_negative for place in self.places)

    @property
    def default_rate(self) -> float:
        """Give the rate at which a threshold is matched where none is searched."""
        return self.goal.fpr if self.goal.single else max(self.goal.fpr, self._least_rate)

    @cached_property
    def search(self) -> Search:
        """How it is searched."""
        points = None if self.axes != self.space.axes else self.space.points()
        sampler = choose_sampler(
            self.sampler,
            n_points=None if points is None else len(points),
            n_trials=self.trials,
            single=self.goal.single,
        )
        return Search(
            name=self.name(sampler),
            axes=self.axes,
            points=points if sampler == "grid" else None,
            directions=tuple[Direction, ...](
                "maximize" if w.higher else "minimize" for w in self.goal.wanted
            ),
            sampler=sampler,
            seed=self.seed,
        )

    def name(self, sampler: str) -> str:
        """Name the study in its storage: by all that its trials depend on."""
        told = {
            "schema": SCHEMA,
            "base": describe(self.space.base),
            "axes": [repr(axis) for axis in self.axes],
            "goal": self.goal.told(),
            "places": [(p.first, [describe(w) for w in p.workloads]) for p in self.places],
            "sampler": sampler,
            "seed": self.seed,
        }
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        return f"{name_of(self.space.base)}-{digest[:12]}"

    def judged(self, params: Params) -> Judged:
        """Give the rule of a trial, with its threshold."""
        return Judged(self.space.detector(params), self.threshold(params))

    def threshold(self, params: Params) -> Threshold:
        """Give the threshold of a trial."""
        return Natural() if self.own_threshold else Matched(fpr=params.get(RATE, self.default_rate))

    def worth(self, trial: Told, part: str) -> list[float]:
        """Give what a trial is worth on a part, as the search is told it."""
        scores = {k: float("nan") if v is None else v for k, v in trial.told[part].items()}
        return self.goal.values(scores, own_threshold=self.own_threshold)


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search has found.

    Parameters
    ----------
    tuning : Tuning
        What was asked.
    trials : list of Told
        All trials in order.
    chosen : list of Told
        The best on validation runs; where scores stand against each other, those that no other
        trial beats in all of them.
    shown : dict of str to Resampled
        By part: the rules of the chosen, then that with the default settings.
    """

    tuning: Tuning
    trials: list[Told]
    chosen: list[Told]
    shown: dict[str, Resampled]

    @property
    def best(self) -> Told:
        """The best trial, of a single objective."""
        return self.chosen[0]

    def spec(self, trial: Told) -> str:
        """Write the rule of a trial as the command line reads it."""
        return spec_of(self.tuning.space.detector(trial.params))

    def places(self, *first: str) -> list[str]:
        """Name the places whose first part is one of these."""
        return [place.name for place in self.tuning.places if place.first in first]


def choose(tuning: Tuning, trials: Sequence[Told]) -> list[Told]:
    """Choose by the validation runs, which the search was never told of; of equals the earliest."""
    worth = [tuning.worth(trial, VALIDATION) for trial in trials]
    if tuning.goal.single:
        return [trials[worth.index(max(worth))]]
    signs = [1 if wanted.higher else -1 for wanted in tuning.goal.wanted]
    signed = [tuple(s * v for s, v in zip(signs, values, strict=True)) for values in worth]
    front = [i for i, one in enumerate(signed) if not any(_beats(other, one) for other in signed)]
    first = {signed[i]: i for i in reversed(front)}  # of equals the earliest
    order = sorted(first.values(), key=signed.__getitem__, reverse=True)
    spread = np.linspace(0, len(order) - 1, min(len(order), MOST_CHOSEN)).round().astype(int)
    return [trials[order[i]] for i in spread]


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def tune(
    tuning: Tuning,
    out: Path,
    *,
    storage: str | None = None,
    jobs: int = 1,
    advance: Advance = lambda done, total: None,
) -> Tuned:
    """Search, or go on where that was interrupted.

    Parameters
    ----------
    tuning : Tuning
        What is tuned.
    out : Path
        Folder of the results; its ``cells/`` are a cache, its journal holds the trials.
    storage : str, optional
        Optuna URL of another storage for the trials.
    jobs : int
        Workers; the trials do not depend on it.
    advance : callable
        Told how many trials are done, of how many.
    """
    bench = Bench(tuning.places, tuning.seed, Store(out / "cells"), jobs)

    def measure(settings: Sequence[Params]) -> list[Measured]:
        rules = [tuning.judged(params) for params in settings]
        parts = bench.scores((TRAIN, VALIDATION), rules)
        return [
            Measured(
                tuning.goal.values(train, own_threshold=tuning.own_threshold),
                {TRAIN: finite(train), VALIDATION: finite(validation)},
            )
            for train, validation in zip(parts[TRAIN], parts[VALIDATION], strict=True)
        ]

    with open_storage(storage or out / JOURNAL) as opened:
        trials = tuning.search.run(opened, tuning.trials, measure, advance)
    chosen = choose(tuning, trials)
    rules = [tuning.judged(trial.params) for trial in chosen]
    rules.append(tuning.judged({}))
    return Tuned(tuning, trials, chosen, {part: resampled(bench, part, rules) for part in PARTS})
