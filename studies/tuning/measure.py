"""Measure rules on the parts of all places: their scores, and at the end with intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalstop.benchmarks.intervals import LEVEL, percentiles, resample, wilson
from evalstop.benchmarks.scores import resampled_scores
from evalstop.detectors.observation import FloatArray
from evalstop.studies.cell import Cell
from evalstop.studies.detection import Drawn, Judged
from evalstop.studies.runner import run
from evalstop.studies.store import Numbers, Store
from evalstop.studies.tuning.goal import WORST_FPR
from evalstop.studies.tuning.places import Place, blocks

SCORES = ("saved", "recall", "precision", "fpr_healthy", "delay_mean", "premature")
N_RESAMPLES = 2000
Advance = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Bench:
    """Places, and how rules are measured there.

    Parameters
    ----------
    places : sequence of Place
        Where.
    seed : int
        Of all runs.
    store : Store
        What is there is not measured again.
    jobs : int
        Workers.
    """

    places: Sequence[Place]
    seed: int
    store: Store
    jobs: int

    def scores(
        self, parts: Sequence[str], rules: Sequence[Judged]
    ) -> dict[str, list[dict[str, float]]]:
        """Give the mean scores of rules over the places of each part; all places count the same.

        Beside `SCORES` there are ``fpr_worst``, the most false alarms at any place, and
        ``horizon``, the evals of the longest run.
        """
        cells = {
            (part, i, place.name): place.cell(part, rule, self.seed)
            for part in parts
            for i, rule in enumerate(rules)
            for place in self.places
            if place.lends(part)
        }
        numbers = run(list(cells.values()), self.store, jobs=self.jobs)
        found: dict[tuple[str, int], list[Numbers]] = {}
        for (part, i, _), told in zip(cells, numbers, strict=True):
            found.setdefault((part, i), []).append(told)
        horizon = float(max(place.horizon for place in self.places))
        return {
            part: [_averaged(found[part, i]) | {"horizon": horizon} for i in range(len(rules))]
            for part in parts
        }


def _averaged(found: Sequence[Numbers]) -> dict[str, float]:
    """Average the scores of one rule; a place that has none counts for nothing."""
    told = {name: _mean([scores[name] for scores in found]) for name in SCORES}
    return told | {WORST_FPR: max(scores["fpr_healthy"] for scores in found)}


def _mean(values: Sequence[float]) -> float:
    told = [value for value in values if not np.isnan(value)]
    return float(np.mean(told)) if told else np.nan


class Interval(NamedTuple):
    """A score with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Resampled:
    """Rules on one part, with what a bootstrap makes of their scores.

    Parameters
    ----------
    draws : dict
        By place and score, for each rule: the score, then its resamples ``(n_rules, 1 + n)``. Rules
        are resampled alike.
    thresholds : dict
        By place: the threshold of each rule.
    n_healthy : dict
        By place: how many healthy runs there are.
    """

    draws: dict[str, dict[str, FloatArray]]
    thresholds: dict[str, list[float]]
    n_healthy: dict[str, int]

    @property
    def places(self) -> list[str]:
        """Names of the places."""
        return list(self.draws)

    def interval(self, score: str, rule: int, places: Sequence[str] | None = None) -> Interval:
        """Give the mean of a score over some places, or all."""
        places = self.places if places is None else places
        mean = self._mean(score, places)[rule]
        ends = percentiles(mean[1:], LEVEL)
        if score == "fpr_healthy" and ends[0] == ends[1]:  # none, or all: no resample varies
            n = float(sum(self.n_healthy[place] for place in places))
            ends = wilson(mean[0] * n, n)
        return Interval(float(mean[0]), *ends)

    def gain(self, score: str, places: Sequence[str] | None = None) -> Interval:
        """Give how much more the first rule scores than the last, paired."""
        mean = self._mean(score, self.places if places is None else places)
        more = mean[0] - mean[-1]
        return Interval(float(more[0]), *percentiles(more[1:], LEVEL))

    def _mean(self, score: str, places: Sequence[str]) -> FloatArray:
        stacked = np.stack([self.draws[place][score] for place in places])
        told = ~np.isnan(stacked)
        sums, n = np.where(told, stacked, 0).sum(axis=0), told.sum(axis=0)
        mean: FloatArray = np.divide(sums, n, out=np.full_like(sums, np.nan), where=n > 0)
        return mean


def resampled(
    bench: Bench, part: str, rules: Sequence[Judged], advance: Advance = lambda done, total: None
) -> Resampled:
    """Measure rules on a part, with a bootstrap over its runs.

    Curves of one training run are drawn together; thresholds are held as they are.
    """
    places = [place for place in bench.places if place.lends(part)]
    draws: dict[str, dict[str, FloatArray]] = {}
    thresholds: dict[str, list[float]] = {}
    n_healthy: dict[str, int] = {}
    for number, place in enumerate(places):
        drawn: Drawn = made(place.cell(part, rules[0], bench.seed))
        groups = blocks(place, part, drawn)
        n_groups = int(groups.max()) + 1
        weights = resample(n_groups, N_RESAMPLES, seed=number)
        weights = np.concatenate([np.ones((1, n_groups)), weights])
        thresholds[place.name] = [r.threshold.value(r.detector, drawn) for r in rules]
        judged = [
            resampled_scores(drawn.scored, rule.outcomes(drawn, at), groups, weights)
            for rule, at in zip(rules, thresholds[place.name], strict=True)
        ]
        draws[place.name] = {name: np.stack([j[name] for j in judged]) for name in SCORES}
        n_healthy[place.name] = int(drawn.scored.healthy.sum())
        advance(number + 1, len(places))
    return Resampled(draws, thresholds, n_healthy)


def made(cell: Cell) -> Drawn:
    """Make the runs of a cell as the runner does."""
    runs: Drawn = cell.workload.make(np.random.SeedSequence(int(cell.stream, 16)))
    return runs
