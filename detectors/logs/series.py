"""What a log is before its curves: the series of each run, and what has to be said of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evalstop.detectors.logs.curve import Role
from evalstop.detectors.logs.rules.branches import Point

Joins = Literal["never", "first", "equal", "always"]


@dataclass
class Series:
    """One metric of one run: streams of points, one for each file, rank or episode.

    `distinct` says that each stream is one replicate, `by` names what counts them, `known` that
    the format has an axis for them; `told` is the direction that the log tells, `source` the log.
    """

    metric: str
    role: Role
    streams: list[list[Point]]
    distinct: bool = False
    by: str = ""
    known: bool = False
    told: bool | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


@dataclass
class Run:
    """The series of one run in one log.

    `joins` says whether another log can hold more of the same run: ``never`` where the name is
    that of the file, ``first`` where it is that of the folder (of two logs in one folder the first
    is believed), ``equal`` where the log names it (joined unless values contradict), ``always``
    where each file holds one checkpoint. `said` has warnings on the run, `asides`
    sentences on a metric, `told` directions.
    """

    name: str
    source: str
    series: list[Series]
    joins: Joins = "never"
    told: Mapping[str, tuple[bool, str]] = field(default_factory=dict)
    asides: Mapping[str, list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


@dataclass
class Found:
    """What was found at one place."""

    runs: list[Run] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
