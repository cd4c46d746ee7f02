"""Where rules are measured: worlds or recorded curves, their runs in three parts.

A search is told the scores on *train* runs, the winner is chosen on *validation* runs, and what is
shown of it was measured on *held-out* runs, which neither has seen. With three worlds or more the
worlds are parted too: the last third lends held-out runs alone, the third before it none to train.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from evalstop.benchmarks.labelled import LabelledCurves
from evalstop.benchmarks.population import LabelledRuns
from evalstop.detectors.observation import CHANNELS, IntArray
from evalstop.detectors.settings import spec_of
from evalstop.errors import UserError
from evalstop.simulator.truth import BoolArray, Population, Truths
from evalstop.simulator.worlds import build_world
from evalstop.studies.cell import Cell, Contender, Workload
from evalstop.studies.detection import Detection, Drawn, Jobs, check_both_kinds

TRAIN, VALIDATION, HELD_OUT = PARTS = ("train", "validation", "held-out")
SHARES = (0.5, 0.25)  # of recorded runs: train and validation, the rest is held out
HELD_OUT_TIMES = 2  # held-out runs of a world, in runs of the other parts: drawn once, so cheap
BLOCKS = 100  # runs of a world are independent: the bootstrap draws blocks of them

DEFAULT_WORLDS = (
    *("paper", "paper:n=20,sigma=0.06", "triangle:n=12,sigma=0.06"),
    *("paper:n=12,sigma=0.12", "plateau:n=20", "gao-rl"),
    *("cliff:n=20,sigma=0.06", "gao-law:n=10,sigma=0.06", "real-noise"),
)


@dataclass(frozen=True)
class Place:
    """One world, or a set of recorded curves.

    Parameters
    ----------
    name : str
        Spec of the world, or what the curves are called.
    first : {"train", "validation", "held-out"}
        The first part that it lends runs to; it lends some to all that follow.
    workloads : tuple of Workload
        What makes the runs of each part.
    horizon : int
        Evals of its longest run.
    n_negative : int
        Runs that should go on, from which its thresholds come.
    """

    name: str
    first: str
    workloads: tuple[Workload, ...]
    horizon: int
    n_negative: int

    def lends(self, part: str) -> bool:
        """Tell whether runs of it are in a part."""
        return PARTS.index(part) >= PARTS.index(self.first)

    def cell(self, part: str, contender: Contender, seed: int) -> Cell:
        """Give the cell of a contender; runs of different parts have seeds of their own."""
        number = PARTS.index(part)
        return Cell(self.workloads[number], contender, seed, number)


def world_places(specs: Sequence[str], runs: int) -> list[Place]:
    """Part worlds as they are listed: the first are trained on, the last are held out.

    Parameters
    ----------
    specs : sequence of str
        Worlds; fewer than three are parted by run alone.
    runs : int
        Runs of each world in a part.
    """
    worlds = list(dict.fromkeys(build_world(spec, outside=True) for spec in specs))
    kept_back = len(worlds) // 3
    places = []
    for i, world in enumerate(worlds):
        check_both_kinds(world)
        from_end = len(worlds) - i
        first = HELD_OUT if from_end <= kept_back else TRAIN
        if kept_back < from_end <= 2 * kept_back:
            first = VALIDATION
        sizes = (runs, runs, HELD_OUT_TIMES * runs)
        workloads = tuple(Detection(world, Jobs(runs=size, rlhf_share=1.0)) for size in sizes)
        places.append(Place(spec_of(world), first, workloads, world.n, runs))
    return places


class Curves:
    """Labelled curves as a workload carries them; as text they are the hash of all their values."""

    def __init__(self, labelled: LabelledCurves) -> None:
        self.runs, self.population = labelled.runs, labelled.population
        self.groups = labelled.groups
        digest = hashlib.sha256()
        channels = [getattr(self.runs, name) for name in CHANNELS]
        told = [getattr(self.population, f.name) for f in fields(LabelledRuns)]
        for values in (*channels, *told, self.groups):
            digest.update(repr(np.asarray(values, dtype=None).tolist()).encode())
        self._digest = digest.hexdigest()[:20]

    def __str__(self) -> str:
        return self._digest


@dataclass(frozen=True)
class Recorded:
    """One part of recorded curves; thresholds come from those of the train part that should go on.

    Parameters
    ----------
    curves : Curves
        All of them.
    rows, negatives : tuple of int
        Which are in this part, and which set thresholds.
    """

    name: ClassVar[str] = "recorded"
    curves: Curves
    rows: tuple[int, ...]
    negatives: tuple[int, ...]

    def make(self, seeds: np.random.SeedSequence) -> Drawn:
        """Take them; nothing is random here."""
        judged, negatives = self._take(self.rows), self._take(self.negatives)
        scored = self.curves.population.take(np.array(self.rows))
        return Drawn(judged, negatives, scored, stoppable=1.0)

    def _take(self, rows: tuple[int, ...]) -> Population:
        """Give some curves, and as their truth what their labels say."""
        told, chosen = self.curves.population, np.array(rows)
        truth = Truths(
            kind=np.full(len(rows), "RLHF"),
            hacking=told.hacking[chosen],
            peak=told.peak[chosen],
            true_score=told.true[chosen],
            loss_rate=np.full(len(rows), np.nan),
        )
        return Population(self.curves.runs.take(chosen), truth)


def curve_place(labelled: LabelledCurves, seed: int) -> Place:
    """Part recorded curves by training run, half of them for the search.

    Runs with and without a curve that should be stopped are dealt out apart, so that each part has
    its share of both.

    Raises
    ------
    UserError
        If a part would lack one of the two kinds.
    """
    curves, hacking = Curves(labelled), labelled.population.hacking
    part_of = _deal(labelled.groups, hacking, np.random.default_rng(seed))[labelled.groups]
    for part, name in enumerate(PARTS):
        here = hacking[part_of == part]
        if here.all() or not here.any():
            raise UserError(
                f"curves: the {name} part would have {here.sum()} curves that should be stopped "
                f"and {(~here).sum()} that should go on; at least 4 training runs of each kind are "
                "needed for three parts"
            )
    negatives = np.flatnonzero(~hacking & (part_of == 0))
    workloads = tuple(
        Recorded(curves, tuple(np.flatnonzero(part_of == part).tolist()), tuple(negatives.tolist()))
        for part in range(len(PARTS))
    )
    horizon = labelled.runs.score.shape[1]
    return Place("curves", TRAIN, workloads, horizon, len(negatives))


def _deal(groups: IntArray, hacking: BoolArray, rng: np.random.Generator) -> IntArray:
    """Give the part of each group."""
    n_groups = int(groups.max()) + 1
    positive = np.bincount(groups, hacking, n_groups) > 0
    part = np.empty(n_groups, dtype=np.int64)
    for kind in (True, False):
        members = rng.permutation(np.flatnonzero(positive == kind))
        ends = np.round(np.cumsum(SHARES) * len(members)).astype(np.int64)
        for number, some in enumerate(np.split(members, ends)):
            part[some] = number
    return part


def blocks(place: Place, part: str, drawn: Drawn) -> IntArray:
    """Give what the bootstrap draws together: curves of one training run, blocks of a world."""
    workload = place.workloads[PARTS.index(part)]
    if isinstance(workload, Recorded):
        _, groups = np.unique(workload.curves.groups[list(workload.rows)], return_inverse=True)
        return groups.astype(np.int64)
    return np.arange(len(drawn.scored)) % BLOCKS
