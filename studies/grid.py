"""From a study to its cells: every combination of its parts and of the values of its axes.

A kind of study (`evalstop.studies.detection`) says which *parts* a cell is made of, each with the
configs that it may be, and how these become a workload and a contender. An axis is a setting of one
of the parts. A *point* (``noise/3``) is one combination of all that contenders have in common: the
world, the scheduler, a value of each axis.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from evalstop.detectors.settings import build, name_of, nearest, settings_of, spec_of, write
from evalstop.errors import UserError
from evalstop.studies.cell import Cell, Contender, Workload
from evalstop.studies.study import Study

Parts = Mapping[str, Any]
# Parts that differ between contenders; not every member has the field of an axis over them.
COMPARED = ("detector", "threshold")


@dataclass(frozen=True)
class Kind:
    """A kind of study.

    Parameters
    ----------
    options : callable
        What each part may be, by the part's name, for a study.
    assemble : callable
        Makes the two halves of a cell from one config for each part; ``None`` = there is no such
        cell (a natural threshold of a rule that has none).
    scores : tuple of str
        Scores that its cells have.
    shown : tuple of str
        Those that are shown when a study names none.
    """

    options: Callable[[Study], Mapping[str, list[Any]]]
    assemble: Callable[[Parts], tuple[Workload, Contender] | None]
    scores: tuple[str, ...]
    shown: tuple[str, ...]


class Placed(NamedTuple):
    """A cell and where it stands in its study: its point's number and its labels."""

    point: int
    labels: dict[str, Any]
    cell: Cell


def kind_of(study: Study) -> Kind:
    """Give the kind of a study."""
    from evalstop.studies.detection import DETECTION

    if study.schedulers:
        raise UserError(f"{study.name}: schedulers are not supported yet")
    return DETECTION


def place(study: Study, seed: int) -> list[Placed]:
    """Give all cells of a study in order: points, then contenders, then repetitions.

    Raises
    ------
    UserError
        If a name, an axis, a value or a score is wrong.
    """
    kind = kind_of(study)
    for score in study.scores:
        if score not in kind.scores:
            raise UserError(f"{study.name}: no score {score!r}, {nearest(score, kind.scores)}")
    options = kind.options(study)
    homes = {axis: _home(study, axis, options) for axis in study.axes}
    common = [part for part in options if part not in COMPARED]
    compared = [part for part in options if part in COMPARED]
    placed: list[Placed] = []
    points = product(*(options[part] for part in common), *study.axes.values())
    for point, chosen in enumerate(points):
        shared = dict(zip(common, chosen, strict=False))
        values = dict(zip(study.axes, chosen[len(common) :], strict=True))
        for contender in product(*(options[part] for part in compared)):
            named = shared | dict(zip(compared, contender, strict=True))
            halves = kind.assemble(_along(named, homes, values))
            if halves is None:
                continue
            labels = {part: spec_of(config) for part, config in named.items()} | values
            placed += (
                Placed(point, labels, Cell(*halves, seed, repeat)) for repeat in range(study.seeds)
            )
    _check_all_detectors(study, options, placed)
    return placed


def _home(study: Study, axis: str, options: Mapping[str, list[Any]]) -> tuple[str, str]:
    """Give the part whose setting an axis is, and the setting."""
    part, _, field = axis.rpartition(".")
    if part and part not in options:
        raise UserError(f"{study.name}: axis {axis!r}: no part {part!r}, {nearest(part, options)}")
    for name in [part] if part else options:
        have = [field in settings_of(config) for config in options[name]]
        if any(have):
            if name not in COMPARED and not all(have):
                lacks = name_of(options[name][have.index(False)])
                raise UserError(f"{study.name}: axis {axis!r}: {lacks} has no setting {field!r}")
            return name, field
    known = {f: None for name in options for c in options[name] for f in settings_of(c)}
    raise UserError(f"{study.name}: no part has a setting {axis!r}, {nearest(field, known)}")


def _along(
    parts: Mapping[str, Any], homes: Mapping[str, tuple[str, str]], values: Mapping[str, Any]
) -> Parts:
    """Set the fields that the axes name."""
    moved = dict(parts)
    for axis, value in values.items():
        part, field = homes[axis]
        config = moved[part]
        if field in settings_of(config):
            texts = {name: write(v) for name, v in settings_of(config).items()}
            moved[part] = build(type(config), texts | {field: write(value)})
    return moved


def _check_all_detectors(
    study: Study, options: Mapping[str, list[Any]], placed: list[Placed]
) -> None:
    """Refuse a study that would leave a detector out."""
    there = {p.labels["detector"] for p in placed}
    for detector in options["detector"]:
        if spec_of(detector) not in there:
            raise UserError(
                f"{study.name}: {spec_of(detector)} has no natural threshold, "
                'add a threshold like "matched:fpr=0.015"'
            )
