"""Find a study by what a user typed: ``noise``, ``noise/3``, ``my.toml``, ``my.toml/3``."""

import re
from collections.abc import Callable
from typing import NamedTuple

from evalstop.detectors.settings import nearest
from evalstop.errors import UserError
from evalstop.studies.analysis import Analysis, analyse
from evalstop.studies.named import NAMED
from evalstop.studies.results import Results
from evalstop.studies.study import Study, read_study

SMOKE_SEEDS = 10


class Found(NamedTuple):
    """A study, one of its points or all (``None``), and what makes sense of its results."""

    study: Study
    point: int | None
    analyse: Callable[[Results], Analysis]


def find(which: str, *, smoke: bool = False) -> Found:
    """Find a study.

    Parameters
    ----------
    which : str
        Name of a study or path of a TOML file, perhaps with ``/`` and the number of a point.
    smoke : bool
        Take a part that is done in seconds: few seeds and, unless a point is asked for, few values.

    Raises
    ------
    UserError
        If there is no such study, naming the nearest.
    """
    match = re.fullmatch(r"(.+)/(\d+)", which)
    name, point = (match[1], int(match[2])) if match else (which, None)
    if name.endswith(".toml"):
        study = read_study(name)
        return Found(
            first_look(study, keep_axes=point is not None) if smoke else study, point, analyse
        )
    if name not in NAMED:
        raise UserError(f"there is no study {name!r}, {nearest(name, (*NAMED, 'FILE.toml'))}")
    named = NAMED[name]
    if not smoke:
        return Found(named.study, point, named.analyse)
    if point is not None:
        return Found(named.study.smaller(seeds=named.smoke.seeds), point, named.analyse)
    return Found(named.smoke, None, named.analyse)


def first_look(study: Study, *, keep_axes: bool) -> Study:
    """Take few seeds and the ends of every axis."""
    ends = {axis: tuple(dict.fromkeys((v[0], v[-1]))) for axis, v in study.axes.items()}
    return study.smaller(seeds=min(study.seeds, SMOKE_SEEDS), **({} if keep_axes else ends))
