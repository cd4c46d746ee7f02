"""Run the leaderboard: all boards, all rules, all repetitions; then what each rule costs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from evalstop.benchmarks.posterior import OraclePosterior
from evalstop.benchmarks.timing import best_of
from evalstop.detectors import DETECTORS, scan
from evalstop.detectors.settings import spec_of, with_all
from evalstop.detectors.zoo.always import Always
from evalstop.detectors.zoo.never import Never
from evalstop.errors import UserError
from evalstop.simulator.stoppers import Oracle
from evalstop.simulator.worlds import WORLDS
from evalstop.simulator.worlds.paper import Paper
from evalstop.studies.cell import Cell, describe
from evalstop.studies.leaderboard.boards import RANKED, Board, make_boards
from evalstop.studies.leaderboard.contest import SCORES, Arena, Contestant, Key, Rule
from evalstop.studies.results import write_results
from evalstop.studies.runner import run
from evalstop.studies.store import Numbers, Store

REFERENCES: tuple[Rule, ...] = (Oracle(), OraclePosterior(), Never(), Always())
REFERENCE_NAMES = tuple(spec_of(rule) for rule in REFERENCES)
DETECTOR_SPECS = (
    *("k-decline", "k-decline:form=tolerance", "k-decline:k=3,form=tolerance", "patience"),
    *("drawdown", "ewma-drawdown", "ewma-drawdown:weight=0.7", "page-hinkley", "cusum", "ewma"),
    *("shiryaev-roberts", "bocpd", "slope-glr", "step-glr", "mann-kendall", "unimodal-glr"),
    *("gao-fit", "fused", "e-process", "e-detector", "kalman-trend", "ruptures", "proxy-gap"),
    *("learned", "learned:scale=unit", "loss-plateau", "fixed-progress"),
)
COST_RUNS, COST_EVALS = 1000, 20


@dataclass(frozen=True)
class Entries:
    """What is compared on what, and how often.

    Parameters
    ----------
    boards : sequence of Board
        The worlds.
    rules : sequence of Detector
        Detectors; the reference lines come by themselves.
    runs : int
        Runs of each world in each repetition; as many healthy ones set thresholds.
    seeds : int
        Repetitions, at least 2.
    """

    boards: Sequence[Board]
    rules: Sequence[Rule]
    runs: int = 1000
    seeds: int = 5

    def smaller(self) -> "Entries":
        """Take a part that is done in seconds: the first horizon, few worlds, runs and seeds."""
        boards = [replace(b, fields=b.fields[:4]) for b in self.boards]
        kept = [b for b in boards if b.name in RANKED]
        others = [b for b in boards if b.name not in RANKED]
        return replace(self, boards=[*others[:1], *kept], runs=400, seeds=3)


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """All numbers.

    Parameters
    ----------
    entries : Entries
        What was compared.
    seed : int
        Seed of everything random.
    frame : DataFrame
        One row for each world of a board, threshold, budget, rule and repetition.
    cost : Series
        Microseconds of one core for one eval of one run, by rule: measured, so never the same.
    """

    entries: Entries
    seed: int
    frame: pd.DataFrame
    cost: "pd.Series[float]"


def enter(
    worlds: Iterable[str],
    detectors: Iterable[str],
    horizons: Sequence[int],
    fprs: Sequence[float],
) -> Entries:
    """Make the entries of specs typed by a user; ``all`` stands for all there are.

    Raises
    ------
    UserError
        If a name, a setting or a number is wrong.
    """
    everywhere = [*(spec_of(world()) for world in WORLDS), *RANKED]
    everybody = [*DETECTOR_SPECS, *DETECTORS.outsiders()]
    rules = dict(zip(REFERENCE_NAMES, REFERENCES, strict=True))
    for spec in with_all(detectors, everybody):
        rule = DETECTORS.build(spec, allow_path=True)
        name = spec_of(rule)
        if describe(rules.setdefault(name, rule)) != describe(rule):
            raise UserError(f"{name}: two detectors have this name, rename one")
    for name in REFERENCE_NAMES:
        del rules[name]
    if not rules:
        raise UserError("detectors: there is none to compare, name one or more")
    boards = make_boards(with_all(worlds, everywhere), horizons, fprs)
    if not boards:
        raise UserError("worlds: there is none to compare on, name one or more")
    return Entries(boards, list(rules.values()))


def compete(
    entries: Entries,
    out: Path,
    *,
    seed: int = 0,
    jobs: int = 1,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Leaderboard:
    """Compute what is missing, measure costs, and save the means over worlds as results.

    Parameters
    ----------
    entries : Entries
        What to compare.
    out : Path
        Folder; its ``cells/`` are the cache, and where an interrupted leaderboard goes on.
    seed : int
        Seed of everything random, at least 0.
    jobs : int
        Worker processes.
    advance : callable
        Told how many cells are done, of how many.
    """
    if seed < 0:
        raise UserError(f"seed: must be at least 0, got {seed}")
    rules = [*entries.rules, *REFERENCES]
    placed = [
        (board, rule, Cell(_arena(board, entries), _contestant(board, rule), seed, repeat))
        for board in entries.boards
        for repeat in range(entries.seeds)
        for rule in rules
    ]
    numbers = run([cell for _, _, cell in placed], Store(out / "cells"), jobs=jobs, advance=advance)
    rows = [
        row
        for (board, rule, cell), told in zip(placed, numbers, strict=True)
        for row in _rows(board, spec_of(rule), cell, told)
    ]
    frame = pd.DataFrame(rows)
    told = {
        "study": {
            "name": "leaderboard",
            "question": "Which stop rule saves most, at the same price in false alarms?",
            "worlds": {b.name: [f.label for f in b.fields] for b in entries.boards},
            "detectors": [spec_of(rule) for rule in rules],
            "runs": entries.runs,
            "seeds": entries.seeds,
        },
        "shown": ["saved", "recall_before_last", "fpr_healthy", "premature"],
        "seed": seed,
        "cells": len(placed),
    }
    write_results(out, told, _over_worlds(frame))
    return Leaderboard(entries, seed, frame, measure_cost(rules))


def _over_worlds(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the means over the worlds of each board, as tracked results."""
    keys = ["board", "fpr", "detector", "threshold", "repeat", "cell"]
    scores = [score for score in SCORES if score != "threshold_value"]
    groups = frame.groupby(keys, sort=False)
    told = groups[scores].mean().assign(fpr_worst=groups["fpr_healthy"].max()).reset_index()
    told["point"] = told.groupby(["board", "fpr"], sort=False).ngroup()
    told["cell"] += "-" + told["threshold"] + "-" + told["fpr"].map(repr)
    return told[["point", *keys[:-1], *scores, "fpr_worst", "cell"]]


def _arena(board: Board, entries: Entries) -> Arena:
    return Arena(board.fields, entries.runs)


def _contestant(board: Board, rule: Rule) -> Contestant:
    return Contestant(rule, board.fprs, board.thresholds)


def _rows(board: Board, rule: str, cell: Cell, numbers: Numbers) -> Iterable[dict[str, Any]]:
    """Give the rows of one cell: its numbers, put where they belong."""
    rows: dict[tuple[int, str, float], dict[str, Any]] = {}
    for text, value in numbers.items():
        key = Key.read(text)
        field = board.fields[key.field]
        row = rows.setdefault(
            key[:3],
            {
                "board": board.name,
                "world": field.label,
                "n": field.world.n,
                "fpr": key.fpr,
                "detector": rule,
                "threshold": key.threshold,
                "repeat": cell.repeat,
            },
        )
        row[key.score] = value
    return [{**row, "cell": cell.id} for row in rows.values()]


def measure_cost(rules: Sequence[Rule]) -> "pd.Series[float]":
    """Measure microseconds of one core for each eval, on runs of the paper's world."""
    from threadpoolctl import threadpool_limits

    world = Paper(n=COST_EVALS)
    population = world.population(np.random.default_rng(0), COST_RUNS)
    cost = {}
    with threadpool_limits(1):
        for rule in rules:
            if isinstance(rule, Oracle):
                work: Callable[[], object] = partial(rule.first_alarm, population)
            elif isinstance(rule, OraclePosterior):
                work = partial(rule.statistics, world, population)
            else:
                work = partial(scan, rule, population.runs)
            repeats = 1 if isinstance(rule, OraclePosterior) else 3
            seconds = best_of(work, repeats, clock=process_time)
            cost[spec_of(rule)] = 1e6 * seconds / (COST_RUNS * COST_EVALS)
    return pd.Series(cost, name="us_per_eval")
