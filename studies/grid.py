"""From a study to its cells: every combination of its parts and of the values of its axes.

A kind of study (`evalstop.studies.detection`) says which *parts* contenders have in common (the
world, the scheduler), each with the configs that it may be, and how these, a detector and its
threshold become a cell. An axis is a setting of one of the parts, the detector or the threshold. A
*point* (``noise/3``) is one combination of the common parts and of a value of each axis.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import product
from typing import Any, NamedTuple

from evalstop.detectors.settings import build, name_of, nearest, settings_of, spec_of, write
from evalstop.errors import UserError
from evalstop.studies.cell import Cell, Contender, Workload
from evalstop.studies.study import AT, Study
from evalstop.studies.thresholds import THRESHOLDS, Threshold

Parts = Mapping[str, Any]
Options = Mapping[str, list[Any]]
# What differs between contenders; not every one of them has the field of an axis.
COMPARED = ("detector", "threshold")


@dataclass(frozen=True)
class Kind:
    """A kind of study.

    Parameters
    ----------
    common : callable
        What each common part may be, by its name, for a study.
    detector : callable
        Makes a detector (or another stop rule) from its spec.
    assemble : callable
        Makes the two halves of a cell from one config for each part, ``detector`` and
        ``threshold`` among them.
    scores : tuple of str
        Scores that its cells have.
    shown : tuple of str
        Those that are shown when a study names none.
    """

    common: Callable[[Study], Options]
    detector: Callable[[str], Any]
    assemble: Callable[[Parts], tuple[Workload, Contender]]
    scores: tuple[str, ...]
    shown: tuple[str, ...]


class Placed(NamedTuple):
    """A cell and where it stands in its study: its point's number and its labels."""

    point: int
    labels: dict[str, Any]
    cell: Cell


def kind_of(study: Study) -> Kind:
    """Give the kind of a study."""
    from evalstop.studies.cluster import CLUSTER
    from evalstop.studies.detection import DETECTION

    return CLUSTER if study.schedulers else DETECTION


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
    common = {
        part: list({spec_of(config): config for config in configs}.values())
        for part, configs in kind.common(study).items()
    }
    pairs = _pairs(study, kind)
    options = {**common, **dict(zip(COMPARED, map(list, zip(*pairs, strict=True)), strict=True))}
    homes = {axis: _home(study, axis, options) for axis in study.axes}
    placed: list[Placed] = []
    for point, chosen in enumerate(product(*common.values(), *study.axes.values())):
        shared = dict(zip(common, chosen, strict=False))
        values = dict(zip(study.axes, chosen[len(common) :], strict=True))
        for pair in pairs:
            named = shared | dict(zip(COMPARED, pair, strict=True))
            labels = {part: spec_of(config) for part, config in named.items()} | values
            halves = kind.assemble(_along(named, homes, values))
            placed += (
                Placed(point, labels, Cell(*halves, seed, repeat)) for repeat in range(study.seeds)
            )
    return placed


def _pairs(study: Study, kind: Kind) -> list[tuple[Any, Threshold]]:
    """Give the contenders: each detector at each threshold that it has, or at its own."""
    pairs: dict[tuple[str, str], tuple[Any, Threshold]] = {}
    for spec in study.detectors:
        name, _, own = spec.partition(AT)
        detector = kind.detector(name)
        wanted = [own] if own else study.thresholds
        thresholds = [THRESHOLDS.build(t) for t in wanted]
        fitting = [threshold for threshold in thresholds if threshold.fits(detector)]
        if not fitting:
            lacks = f"{name} has no threshold {' or '.join(wanted)}" if wanted else "there is none"
            raise UserError(
                f'{study.name}: {lacks}, add one like "matched:fpr=0.015" to thresholds'
            )
        pairs |= {(spec_of(detector), spec_of(t)): (detector, t) for t in fitting}
    return list(pairs.values())


def _home(study: Study, axis: str, options: Options) -> tuple[str, str]:
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
    """Set the fields that the axes name; a contender that has set one for itself keeps it."""
    moved = dict(parts)
    for axis, value in values.items():
        part, field = homes[axis]
        config = moved[part]
        settings = {f.name: f.default for f in fields(config)} if is_dataclass(config) else {}
        own = part in COMPARED and settings.get(field) != getattr(config, field, None)
        if field in settings and not own:
            texts = {name: write(v) for name, v in settings_of(config).items()}
            moved[part] = build(type(config), texts | {field: write(value)})
    return moved
