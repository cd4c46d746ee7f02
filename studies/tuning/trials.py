"""The search: batches are asked for here, measured by any number of workers, told in order.

So the trials do not depend on the workers. They do not depend on interruptions either:

- The sampler of a trial is made anew, seeded by the study's seed and the trial's place in the
  order, so that it has no state of its own to lose.
- A batch that a killed process has left is finished as it was asked for: trials with all their
  settings are measured and told; one that got none has failed, and is asked for again.

Several processes may work on one storage. Each leaves the others' trials alone while these live,
and in the end helps with what they have not told; then the order of the trials is that of the day.
"""

import json
import math
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from evalstop.errors import UserError
from evalstop.studies.tuning.space import Axis, Params
from evalstop.studies.tuning.storage import insist

Direction = Literal["maximize", "minimize"]
BATCH = 8  # trials asked for before any of them is told: more learn less, fewer leave workers idle
POPULATION = 2 * BATCH
SAMPLERS = ("auto", "grid", "tpe", "nsga2", "random")
WORKER, TOLD = "worker", "scores"  # what trials carry besides their settings and values
ASKING = timedelta(seconds=5)  # in which a process that lives has told what it asks for

PAUSE = 0.05  # seconds between looks at what others do


class Measured(NamedTuple):
    """What a trial gave: what the search is told, and what is kept beside it (strict JSON)."""

    values: list[float]
    told: Mapping[str, Any]


class Told(NamedTuple):
    """A finished trial; `number` is its place in the order."""

    number: int
    params: Params
    values: list[float]
    told: Mapping[str, Any]
    distributions: Mapping[str, BaseDistribution]


@dataclass(frozen=True)
class Search:
    """What is searched, and how.

    Parameters
    ----------
    name : str
        Name of the study in its storage; one name, one search.
    axes : tuple of Axis
        What may be set.
    points : list of settings or None
        All that there are, to be tried one after the other, instead of a sampler.
    directions : tuple of {"maximize", "minimize"}
        For each value.
    sampler : {"tpe", "nsga2", "random"}
        How settings are chosen.
    seed : int
        Of the sampler.
    """

    name: str
    axes: tuple[Axis, ...]
    points: list[Params] | None
    directions: tuple[Direction, ...]
    sampler: str
    seed: int

    def run(
        self,
        storage: BaseStorage,
        n_trials: int,
        measure: Callable[[Sequence[Params]], list[Measured]],
        advance: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[Told]:
        """Try what is missing of `n_trials` settings; give all trials in order.

        Parameters
        ----------
        storage : BaseStorage
            What is there is not tried again.
        n_trials : int
            How many in all, or the number of `points` if that is smaller.
        measure : callable
            Measures settings.
        advance : callable
            Told how many are done, of how many.
        """
        study = insist(
            lambda: optuna.create_study(
                storage=storage,
                study_name=self.name,
                directions=self.directions,
                load_if_exists=True,
            ),
            f"study {self.name}",
        )
        total = n_trials if self.points is None else min(n_trials, len(self.points))
        while True:
            left = self._left_behind(study)
            batch = sorted([*left, *self._ask(study, total, go_on=bool(left))])
            done, others = _in(study, TrialState.COMPLETE), _in(study, TrialState.RUNNING)
            advance(min(len(done), total), total)
            if not batch:  # all are asked for: help those who have not told all of theirs
                batch = [t.number for t in others if self._is_whole(t)]
            if not batch and not others:
                return self._told(study)
            if not batch:
                time.sleep(PAUSE)
                continue
            trials = {t.number: t for t in study.get_trials(deepcopy=False)}
            found = measure([trials[number].params for number in batch])
            for number, measured in zip(batch, found, strict=True):
                self._tell(study, trials[number], measured)

    def _ask(self, study: Study, total: int, *, go_on: bool) -> list[int]:
        """Ask for the rest of a batch: as many trials as are missing to its end."""
        taken = _alive(study)
        n_missing = min(BATCH - len(taken) % BATCH, total - len(taken))
        if go_on and len(taken) % BATCH == 0:
            n_missing = 0
        if self.points is None:
            return [self._ask_one(study) for _ in range(n_missing)]
        tried = [t.params for t in taken]
        untried = [p for p in self.points[:total] if p not in tried]
        return [self._ask_one(study, point) for point in untried[: max(n_missing, not go_on)]]

    def _ask_one(self, study: Study, point: Params | None = None) -> int:
        """Ask for a trial; if another process takes it for one that was left, for another one."""
        while True:
            with suppress(UpdateFinishedTrialError):
                trial = study.ask()
                trial.set_user_attr(WORKER, _this_worker())
                place = sum(t.number < trial.number for t in _alive(study))
                study.sampler = Given(point) if point else self._sampler(place)
                for axis in self.axes:
                    _suggest(trial, axis)
                return trial.number

    def _sampler(self, place: int) -> BaseSampler:
        """Make the sampler of the trial at this place in the order."""
        seed = int(np.random.SeedSequence([self.seed, place]).generate_state(1)[0])
        if self.sampler == "tpe":
            return TPESampler(seed=seed)
        if self.sampler == "nsga2":
            return Nsga2(seed=seed, population_size=POPULATION)
        return RandomSampler(seed=seed)

    def _left_behind(self, study: Study) -> list[int]:
        """Give the trials of processes that live no more; those without settings have failed."""
        while True:
            left, asking = [], False
            for trial in _in(study, TrialState.RUNNING):
                worker = trial.user_attrs.get(WORKER)
                started = trial.datetime_start or datetime.now()
                if worker is None and abs(datetime.now() - started) < ASKING:
                    asking = True
                elif worker is None or worker == _this_worker() or not _lives(worker):
                    if self._is_whole(trial):
                        left.append(trial.number)
                    else:
                        with suppress(UpdateFinishedTrialError):
                            study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)
            if not asking:
                return left
            time.sleep(PAUSE)

    def _is_whole(self, trial: FrozenTrial) -> bool:
        """Tell whether a trial has all its settings."""
        return all(axis.name in trial.params for axis in self.axes)

    def _tell(self, study: Study, trial: FrozenTrial, measured: Measured) -> None:
        """Tell what a trial gave, unless somebody else has."""
        with suppress(UpdateFinishedTrialError):
            Trial(study, trial._trial_id).set_user_attr(TOLD, dict(measured.told))
            study.tell(trial.number, measured.values, skip_if_finished=True)

    def _told(self, study: Study) -> list[Told]:
        """Give the finished trials in order; of points that two processes tried at once, one."""
        found: dict[str, FrozenTrial] = {}
        for trial in _in(study, TrialState.COMPLETE):
            key = str(trial.number) if self.points is None else json.dumps(trial.params)
            found.setdefault(key, trial)
        return [
            Told(number, t.params, list(t.values), t.user_attrs[TOLD], t.distributions)
            for number, t in enumerate(found.values())
        ]


class Nsga2(NSGAIISampler):
    """NSGA-II with parents in one order.

    Optuna's first child of a generation meets them as they were selected, later ones in the order
    of their numbers: a child that is asked for again after a kill would be another.
    """

    def select_parent(self, study: Study, generation: int) -> list[FrozenTrial]:
        """Select the parents of a generation."""
        return sorted(super().select_parent(study, generation), key=lambda t: t.number)


class Given(BaseSampler):
    """Settings that are given."""

    def __init__(self, params: Params) -> None:
        self._params = params

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Nothing depends on anything."""
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Nothing depends on anything."""
        return {}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:  # noqa: ANN401 - the value of any setting
        """Give the setting."""
        return self._params[param_name]


def _suggest(trial: Trial, axis: Axis) -> None:
    """Have the sampler set one field of a trial."""
    if axis.choices:
        trial.suggest_categorical(axis.name, axis.choices)
    elif axis.integer:
        trial.suggest_int(axis.name, int(axis.low), int(axis.high), log=axis.log)
    else:
        trial.suggest_float(axis.name, axis.low, axis.high, log=axis.log)


def choose_sampler(asked: str, *, n_points: int | None, n_trials: int, single: bool) -> str:
    """Choose how settings are chosen: all of them if they are few, else by what is wanted."""
    if asked == "grid" and n_points is None:
        raise UserError(
            "sampler: a grid needs finitely many settings, name them with field=1|2|3 or take tpe"
        )
    if asked != "auto":
        return asked
    if n_points is not None and n_points <= n_trials:
        return "grid"
    return "tpe" if single else "nsga2"


def _in(study: Study, *states: TrialState) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=states)


def _alive(study: Study) -> list[FrozenTrial]:
    """Give all trials but those that failed."""
    return _in(study, TrialState.COMPLETE, TrialState.RUNNING)


def _this_worker() -> str:
    """Name this process, so that others can tell whether it lives."""
    return f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())}"


def _lives(worker: str) -> bool:
    """Tell whether a process lives; one on another machine is taken to."""
    host, pid, started = worker.rsplit(" ", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return started == _started(int(pid))


def _started(pid: int) -> str:
    """Give when a process was started, where the system tells: numbers of processes come again."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return "?"
    return "dead" if told[0] in "ZX" else told[19]


def finite(scores: Mapping[str, float]) -> dict[str, float | None]:
    """Write scores as strict JSON."""
    return {name: value if math.isfinite(value) else None for name, value in scores.items()}
