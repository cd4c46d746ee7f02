"""A study: what is compared, on what, along which axes, how often. The same shape as a TOML file.

```toml
name = "my-noise"
question = "Which rule stands noise best?"
worlds = ["paper", "gao-rl"]
detectors = ["k-decline:k=2", "ewma-drawdown:weight=0.7"]
thresholds = ["natural", "matched:fpr=0.015,among=healthy"]
scores = ["recall_before_last", "fpr_healthy", "saved"]
seeds = 10
runs = 2000

[axes]
sigma = [0.01, 0.03, 0.06]
n = [8, 16]
```
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from evalstop.detectors.settings import nearest
from evalstop.errors import UserError

Axes = Mapping[str, tuple[Any, ...]]
# Between a detector and its threshold, in a study and in its tables.
AT = " @ "
MOST_SEEDS = 10**5


@dataclass(frozen=True)
class Study:
    """A grid of cells: worlds x axes x schedulers x detectors x thresholds x seeds.

    Parameters
    ----------
    name : str
        How it is called; also the name of its folder.
    worlds : tuple of str
        Specs as on the command line: ``NAME:field=value``.
    detectors : tuple of str
        Specs; ``k-decline:k=3 @ natural`` has its own threshold instead of those of the study.
    question : str
        What it asks, in a sentence.
    thresholds : tuple of str
        Specs of `evalstop.studies.thresholds`; a detector without a natural one has no ``natural``
        rows.
    schedulers : tuple of str
        Specs; with any, cells are runs of a cluster, without they are populations of runs.
    axes : mapping of str to tuple
        Values of a setting of the world, the jobs, the scheduler, the detector or the threshold, of
        the first of these that has it. ``detector.k`` says which. An axis goes before what the spec
        of a world says; a detector that sets the field itself (``k-decline:k=4``) keeps it.
    scores : tuple of str
        Scores that tables and figures show, the first one first; all are kept.
    seeds : int
        Repetitions of every cell, 2 to 10^5; intervals are over them.
    runs : int
        Runs (or jobs) of one cell, at least 1.
    """

    name: str
    worlds: tuple[str, ...]
    detectors: tuple[str, ...]
    question: str = ""
    thresholds: tuple[str, ...] = ("natural", "matched")
    schedulers: tuple[str, ...] = ()
    axes: Axes = field(default_factory=dict)
    scores: tuple[str, ...] = ()
    seeds: int = 10
    runs: int = 2000

    def __post_init__(self) -> None:
        if self.seeds < 2:
            raise UserError(f"{self.name}: seeds must be at least 2, got seeds={self.seeds}")
        if self.seeds > MOST_SEEDS:
            raise UserError(
                f"{self.name}: seeds must be at most {MOST_SEEDS}, got seeds={self.seeds}"
            )
        if self.runs < 1:
            raise UserError(f"{self.name}: runs must be at least 1, got runs={self.runs}")
        for axis, values in self.axes.items():
            if not values:
                raise UserError(f"{self.name}: axis {axis} has no values, give one or more")
            twice = next((v for i, v in enumerate(values) if v in values[:i]), None)
            if twice is not None:
                raise UserError(f"{self.name}: axis {axis} has {twice} twice, give it once")

    def told(self) -> dict[str, Any]:
        """Give the study as it stands in a TOML file or in JSON."""
        return asdict(self)

    def smaller(self, *, seeds: int, **axes: tuple[Any, ...]) -> "Study":
        """Give a part of the study: fewer seeds, other values of some axes."""
        return replace(self, seeds=seeds, axes={**self.axes, **axes})


def read_study(path: str | Path) -> Study:
    """Read a study from a TOML file; nothing in it is ever run.

    Raises
    ------
    UserError
        If the file is no TOML, lacks a key, or has one that is not known (the nearest is named).
    """
    path = Path(path)
    try:
        told = tomllib.loads(path.read_text("utf-8-sig"))  # some editors write a mark
    except OSError as error:
        raise UserError(f"{path}: cannot be read, {error.strerror}; check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is no TOML, {error}") from error
    known = {f.name: f.type for f in fields(Study)}
    values: dict[str, Any] = {"name": path.stem}
    for key, value in told.items():
        if key not in known:
            raise UserError(f"{path}: there is no key {key!r}, {nearest(key, known)}")
        values[key] = _READERS[key](f"{path}: {key}", value)
    for key in ("worlds", "detectors"):
        if not values.get(key):
            raise UserError(f"{path}: {key} is missing, give a list of names")
    return Study(**values)


def _text(where: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UserError(f"{where} must be a text, got {value!r}")
    return value


def _name(where: str, value: object) -> str:
    text = _text(where, value)
    if not all(c.isalnum() or c in "-_" for c in text):
        raise UserError(f"{where} must be letters, digits, - and _ (a folder's name), got {text!r}")
    return text


def _texts(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UserError(f"{where} must be a list of texts, got {value!r}")
    return tuple(_text(where, v) for v in value)


def _count(where: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f"{where} must be a whole number, got {value!r}")
    return value


def _axes(where: str, value: object) -> Axes:
    """Read a table of axes; ``detector.k = [1, 2]`` is a table in the table, one value no list."""
    if not isinstance(value, dict):
        raise UserError(f"{where} must be a table, got {value!r}; write [axes] and a line for each")
    axes: dict[str, tuple[Any, ...]] = {}
    for name, values in value.items():
        if isinstance(values, dict):
            axes |= {f"{name}.{inner}": v for inner, v in _axes(f"{where}.{name}", values).items()}
            continue
        listed = values if isinstance(values, list) else [values]
        if not all(isinstance(v, str | int | float | bool | list) for v in listed):
            raise UserError(f"{where}.{name} must hold numbers, texts or lists, got {values!r}")
        axes[name] = tuple(tuple(v) if isinstance(v, list) else v for v in listed)
    return axes


_READERS = {
    "name": _name,
    "question": _text,
    "worlds": _texts,
    "detectors": _texts,
    "thresholds": _texts,
    "schedulers": _texts,
    "scores": _texts,
    "axes": _axes,
    "seeds": _count,
    "runs": _count,
}
