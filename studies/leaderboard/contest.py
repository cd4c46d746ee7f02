"""Cells of the leaderboard: one rule on all worlds of a board, in one repetition.

The worlds stand in one cell because a threshold that is to hold in all of them depends on each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalstop.benchmarks.matched import largest_statistics, matched_threshold
from evalstop.benchmarks.outcomes import outcomes
from evalstop.benchmarks.posterior import OraclePosterior
from evalstop.benchmarks.scores import score_outcomes
from evalstop.detectors import first_alarm, scan
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.rules import Detector, natural_threshold
from evalstop.detectors.zoo.never import Never
from evalstop.simulator.stoppers import Oracle
from evalstop.simulator.truth import Population
from evalstop.simulator.worlds.world import World
from evalstop.studies.detection import Detection, Drawn, Jobs
from evalstop.studies.leaderboard.boards import ONE, OWN, Field

Rule = Detector | Oracle | OraclePosterior
SCORES = (
    *("saved", "saved_any", "recall_before_last", "premature", "regret", "delay_mean"),
    *("fpr_healthy", "threshold_value"),
)


class Key(NamedTuple):
    """Where a number of a cell belongs; written as one text in the store."""

    field: int
    threshold: str
    fpr: float
    score: str

    @classmethod
    def read(cls, text: str) -> "Key":
        """Read what `str` wrote."""
        field, threshold, fpr, score = text.split("/")
        return cls(int(field), threshold, float(fpr), score)

    def __str__(self) -> str:
        return f"{self.field}/{self.threshold}/{self.fpr!r}/{self.score}"


@dataclass(frozen=True)
class Arena:
    """RLHF runs of every world of a board, and as many healthy ones to set thresholds on.

    Parameters
    ----------
    fields : tuple of Field
        The worlds.
    runs : int
        Runs of each.
    """

    fields: tuple[Field, ...]
    runs: int

    def make(self, seeds: np.random.SeedSequence) -> list[tuple[World, Drawn]]:
        """Draw them; every world has a seed of its own."""
        jobs = Jobs(self.runs, rlhf_share=1.0)
        return [
            (field.world, Detection(field.world, jobs).make(seed))
            for field, seed in zip(self.fields, seeds.spawn(len(self.fields)), strict=True)
        ]


@dataclass(frozen=True)
class Contestant:
    """A rule at all thresholds of a board.

    Parameters
    ----------
    rule : Detector, Oracle or OraclePosterior
        What is judged.
    fprs, thresholds
        See `Board`.
    """

    rule: Rule
    fprs: tuple[float, ...]
    thresholds: tuple[str, ...]

    def measure(self, made: list[tuple[World, Drawn]]) -> Mapping[str, float]:
        """Score it in every world; an alarm at the last eval counts for nothing."""
        seen = [_see(self.rule, world, drawn) for world, drawn in made]
        numbers = {}
        for fpr in self.fprs:
            own = [s.threshold(fpr) for s in seen]
            held = {OWN: own, ONE: [max(own)] * len(own)}
            for kind in self.thresholds:
                for field, (s, threshold) in enumerate(zip(seen, held[kind], strict=True)):
                    for name, value in s.scores(threshold).items():
                        numbers[str(Key(field, kind, fpr, name))] = value
        return numbers


@dataclass(frozen=True, eq=False)
class _Seen:
    """What a rule made of the runs of one world.

    Parameters
    ----------
    drawn : Drawn
        The runs.
    statistics : array (n_runs, n_evals)
        Of the runs that are scored.
    largest : array (n_healthy,)
        Of the healthy runs that set the threshold; empty if `lowest` is the threshold.
    lowest : float
        The least threshold.
    """

    drawn: Drawn
    statistics: FloatArray
    largest: FloatArray
    lowest: float

    def threshold(self, fpr: float) -> float:
        """Give the threshold that keeps a budget in this world."""
        matched = matched_threshold(self.largest, fpr) if len(self.largest) else -np.inf
        return max(matched, self.lowest)

    def scores(self, threshold: float) -> dict[str, float]:
        """Score the alarms of a threshold."""
        last = self.drawn.population.runs.n_evals - 1
        alarms = first_alarm(self.statistics, threshold)
        alarms = np.where(alarms == last, -1, alarms)
        told = score_outcomes(self.drawn.scored, outcomes(self.drawn.scored, alarms))
        told_all = told._asdict() | {"threshold_value": threshold}
        return {name: told_all[name] for name in SCORES}


def _see(rule: Rule, world: World, drawn: Drawn) -> _Seen:
    """Let a rule see the runs; the oracle sees the truth, its posterior the world."""
    nothing = np.empty(0)
    if isinstance(rule, Oracle):
        return _Seen(drawn, _from(rule.first_alarm(drawn.population), drawn), nothing, 1.0)
    if isinstance(rule, Never):  # and always
        natural = natural_threshold(rule)
        assert natural is not None
        return _Seen(drawn, scan(rule, drawn.population.runs), nothing, natural)

    def statistics(population: Population) -> FloatArray:
        if isinstance(rule, OraclePosterior):
            return rule.statistics(world, population)
        return scan(rule, population.runs)

    healthy = drawn.calibration
    largest = largest_statistics(statistics(healthy), healthy.runs.n_evals, last_counts=False)
    lowest = rule.lowest(world) if isinstance(rule, OraclePosterior) else -np.inf
    return _Seen(drawn, statistics(drawn.population), largest, lowest)


def _from(alarms: IntArray, drawn: Drawn) -> FloatArray:
    """Give a statistic of 1 from each alarm on, 0 before and without one."""
    evals = np.arange(drawn.population.runs.score.shape[1])
    return np.where((alarms[:, None] >= 0) & (evals >= alarms[:, None]), 1.0, 0.0)
