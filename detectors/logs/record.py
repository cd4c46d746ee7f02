"""One record of a log taken apart: which of its keys are clocks, runs, repeats, or series."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalstop.detectors.logs.rules import cells, names
from evalstop.detectors.logs.rules.roles import Name

CLOCKS = frozenset(["step", "wandb", "epoch", "episode"])
MAX_DEPTH = 8  # of nested records
LONG_FORM = ("metric", "name", "key", "tag")  # {"metric": "eval_acc", "value": 0.5, "step": 10}


@dataclass(slots=True)
class Key:
    """What a key of records is for: its use and rank there, its series, its name as a label.

    `kept` says that its values may become points; of others it is only `seen` that they are there.
    """

    use: str
    rank: int
    name: Name
    label: str
    kept: bool
    seen: bool = False


class Head:
    """What one record says beside its values."""

    __slots__ = ("bases", "clocks", "closing", "ranks", "replicate", "run", "split")

    def __init__(self) -> None:
        self.clocks: dict[str, float | str] = {}
        self.ranks: dict[str, int] = {}
        self.run: list[tuple[str, str]] = []
        self.replicate: list[tuple[str, str]] = []
        self.bases: list[str] = []
        self.split, self.closing = "", False

    def take(self, key: Key, cell: object, decimal: str) -> None:
        """Take the cell of a key that is no series."""
        use = key.use
        if use in CLOCKS:
            moment = _moment(cell, decimal)
            if isinstance(cell, str) and cells.is_base(cell):
                self.bases.append(cells.plain(cell))
            if moment is not None and self.ranks.get(use, key.rank) >= key.rank:
                self.clocks[use], self.ranks[use] = moment, key.rank
        if use == "split":
            told = str(cell).strip().lower()
            self.split = told if told in names.EVAL_WORDS | names.TRAIN_WORDS else self.split
        elif use == "closing":
            self.closing = self.closing or cells.number(cell) is not None
        elif use == "run" and is_label(cell):
            self.run.append((key.label, names.clean(str(cell))))
        elif use in ("replicate", "episode") and is_label(cell):
            self.replicate.append((key.label, str(cell).strip()))


def _moment(cell: object, decimal: str) -> float | str | None:
    """Give a moment: a number, or the label that is none ("final"); None = blank."""
    moment = cells.step(cell, decimal)
    if moment is not None or cells.is_nothing(cell) or not isinstance(cell, str):
        return moment
    return cell[:80]


def is_label(cell: object) -> bool:
    """Tell whether a cell can name a run or a repeat."""
    return isinstance(cell, str | int) and not isinstance(cell, bool) and str(cell).strip() != ""


def long_form(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn ``{"metric": M, "value": V, ...}`` into ``{M: V, ...}``; leave other records alone."""
    for name_key in LONG_FORM:
        name = record.get(name_key)
        if isinstance(name, str) and name:
            rest = {k: v for k, v in record.items() if k not in (name_key, "value", "stderr")}
            stderr = {f"{name}_stderr": record["stderr"]} if "stderr" in record else {}
            return {**rest, name: record["value"], **stderr}
    return record


def flat(record: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Give the leaves of a record, nested names joined by a slash.

    >>> dict(flat({"step": 3, "data": {"val/acc": 0.5}, "eval": {"f1": 0.4}}))
    {'step': 3, 'val/acc': 0.5, 'eval/f1': 0.4}
    """
    for key, cell in record.items():
        if not isinstance(cell, dict):
            yield (prefix + key if prefix else key), cell
        elif depth < MAX_DEPTH:
            inside = prefix if key.lower() in names.CONTAINERS else f"{prefix}{key}/"
            yield from flat(cell, inside, depth + 1)
