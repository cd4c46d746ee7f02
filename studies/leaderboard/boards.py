"""Boards: worlds on which rules are compared; one threshold may be asked to hold in all of them.

A board ``n=8`` holds worlds whose runs have 8 evals, for thresholds do not transfer between
horizons. Boards ``R1``, ``R2`` and ``R3`` are the frozen rankings of
`evalstop.benchmarks.rankings`, with fewer runs of each cell.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.benchmarks.rankings import RANKINGS, Ranking
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import parse_spec, settings_of, spec_of
from evalstop.detectors.words import plural
from evalstop.errors import UserError
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds import build_world
from evalstop.simulator.worlds.mixture import mixed_shapes
from evalstop.simulator.worlds.world import Shapes, World
from evalstop.studies.detection import check_both_kinds

OWN, ONE = "own", "one"
RANKED = {ranking.name: ranking for ranking in RANKINGS}


@dataclass(frozen=True)
class Blend(World):
    """Runs from several worlds in equal shares, which differ in nothing but their shapes.

    Parameters
    ----------
    parts : tuple of World
        The worlds; all other settings are those of each of them.
    """

    name: ClassVar[str] = "blend"
    parts: tuple[World, ...] = ()

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Draw a world for each run."""
        share = 1 / len(self.parts)
        return mixed_shapes(rng, progress, hacking, [(part, share, share) for part in self.parts])


@dataclass(frozen=True)
class Field:
    """A world and what it is called."""

    label: str
    world: World


@dataclass(frozen=True)
class Board:
    """Worlds that rules are compared on, and how.

    Parameters
    ----------
    name, title : str
        What it is called.
    fields : tuple of Field
        The worlds.
    fprs : tuple of float
        Budgets of false alarms among healthy runs, in (0, 1).
    thresholds : tuple of str
        ``own``: each world has its own threshold; ``one``: the highest of them holds in all.
    by : str
        Score that ranks.
    """

    name: str
    title: str
    fields: tuple[Field, ...]
    fprs: tuple[float, ...]
    thresholds: tuple[str, ...] = (OWN, ONE)
    by: str = "saved"


def make_boards(
    worlds: Iterable[str], horizons: Sequence[int], fprs: Sequence[float]
) -> list[Board]:
    """Give the boards of some worlds.

    Parameters
    ----------
    worlds : iterable of str
        Specs, or ``R1``, ``R2``, ``R3``. A world is on the board of each horizon; one that sets `n`
        is only on the board of that.
    horizons : sequence of int
        Evals of a run.
    fprs : sequence of float
        Budgets; the rankings have their own.

    Raises
    ------
    UserError
        If a world, a horizon or a budget is wrong, naming the nearest.
    """
    for fpr in fprs:
        if not 0 < fpr < 1:
            raise UserError(f"fpr: must be between 0 and 1, got {fpr:g}")
    fields: dict[int, dict[str, Field]] = {n: {} for n in horizons}
    ranked = []
    for spec in worlds:
        if spec in RANKED:
            ranked.append(_of_ranking(RANKED[spec]))
            continue
        fixed = "n" in parse_spec(spec)[1]
        for n in [None] if fixed else horizons:
            world = build_world(spec, None if n is None else {"n": str(n)}, outside=True)
            check_both_kinds(world)
            label = _without_n(world)
            fields.setdefault(world.n, {})[label] = Field(label, world)
    boards = [
        Board(f"n={n}", f"runs of {plural(n, 'eval')}", tuple(held.values()), tuple(fprs))
        for n, held in sorted(fields.items())
        if held
    ]
    return [*boards, *ranked]


def _without_n(world: World) -> str:
    """Write a world without its number of evals: that is the board's."""
    name, settings = parse_spec(spec_of(world))
    kept = ",".join(f"{field}={text}" for field, text in settings.items() if field != "n")
    return name + (f":{kept}" if kept else "")


def _of_ranking(ranking: Ranking) -> Board:
    return Board(
        ranking.name,
        f"{ranking.name}: {ranking.title}",
        tuple(Field(label, _one_world(worlds)) for label, worlds in ranking.cells.items()),
        (ranking.fpr,),
        (ONE,) if ranking.one_threshold else (OWN,),
        ranking.by,
    )


def _one_world(worlds: tuple[World, ...]) -> World:
    """Give the world of a cell; shares of several become a blend."""
    if len(worlds) == 1:
        return worlds[0]
    common = settings_of(Blend())
    told = {name: getattr(worlds[0], name) for name in common if name != "parts"}
    return Blend(**told, parts=worlds)
