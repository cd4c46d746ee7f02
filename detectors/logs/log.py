"""A log as its format gives it, before any rule on curves: rows with clocks, values and a run.

A format calls `Log.add` for every record it finds, in the order of the file. What the keys of a
record are for is decided here, once for all formats.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalstop.detectors.logs.rules import cells, names
from evalstop.detectors.logs.rules.roles import Name, may_matter

CLOCKS = frozenset(["step", "wandb", "epoch", "episode"])
MAX_DEPTH = 8  # of nested records
LONG_FORM = ("metric", "name", "key", "tag")  # {"metric": "eval_acc", "value": 0.5, "step": 10}


@dataclass(frozen=True)
class Ask:
    """What the caller of `read_logs` asked for.

    Parameters
    ----------
    metrics : frozenset of str
        Series to take as evals, whatever their names say; empty = by the rules.
    step_every : float, optional
        Steps between two evals of a file without steps.
    growing : bool
        The files are still being written: a last line counts once its newline is there.
    browsing : bool
        The file was met in a folder: what only might be a log is none.
    """

    metrics: frozenset[str] = frozenset()
    step_every: float | None = None
    growing: bool = False
    browsing: bool = False


class Row(NamedTuple):
    """One record.

    `clocks` has a number, or a label that is none, for each of the uses ``step``, ``wandb``,
    ``epoch`` and ``episode`` that the record tells; `restart` says why a new branch starts here,
    "" if none does; `closing` marks the summary that a trainer logs at its end; `percent` names
    the values that carried a percent sign.
    """

    clocks: Mapping[str, float | str]
    values: Mapping[Name, float]
    run: tuple[tuple[str, str], ...] = ()
    replicate: tuple[tuple[str, str], ...] = ()
    restart: str = ""
    closing: bool = False
    percent: tuple[str, ...] = ()


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


@dataclass
class Log:
    """All records of one log, and what its format knows of them.

    Parameters
    ----------
    source : str
        The path, for messages.
    run : str
        Name of the run of records that name none.
    ask : Ask
        What the caller asked for.
    ordered : bool
        Records were appended one after the other: a step that goes back is a restart.
    all_eval : bool
        A file of evaluations: every metric in it is an eval.
    all_train : bool
        A file of training: none of its metrics is an eval unless the caller names it.
    known_repeats : bool
        The format has an axis for repeats: averaging over it is no news.
    own_run : bool
        `run` comes from the name of the file: no other file has the same run.
    decimal : str
        Decimal mark of numbers in text.
    told : dict
        Directions that the file tells: metric to (higher is better, where).
    asides : dict
        Sentences on a metric: warnings if it turns out to be an eval, notes if not.
    """

    source: str
    run: str
    ask: Ask = field(default_factory=Ask)
    ordered: bool = True
    all_eval: bool = False
    all_train: bool = False
    known_repeats: bool = False
    own_run: bool = True
    decimal: str = "."
    rows: list[Row] = field(default_factory=list)
    found: dict[Name, None] = field(default_factory=dict)
    told: dict[str, tuple[bool, str]] = field(default_factory=dict)
    asides: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _keys: dict[str, Key] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any], *, line: int = 0, restart: str = "") -> None:
        """Take one record: its clocks, its run, and every number that may become a point."""
        head, values = _Head(), dict[Name, float]()
        percent: tuple[str, ...] = ()
        for raw, cell in flat(long_form(record) if "value" in record else record):
            if cell is None or cell == "":
                continue
            key = self._keys.get(raw) or self._key(raw)
            if key.use != "value":
                head.take(key, cell, self)
            elif key.kept or not key.seen:
                self._take(values, key, cell, line)
                if isinstance(cell, str) and "%" in cell:
                    percent += (key.name.metric,)
        if head.split:
            values = {Name(name.metric, head.split): value for name, value in values.items()}
        if not values.keys() <= self.found.keys():
            self.found.update(dict.fromkeys(values))
        if head.closing:  # no point; but W&B and spreadsheets may join evals to this row
            values = {n: v for n, v in values.items() if names.is_eval(n.metric)}
        told_by = tuple(head.run), tuple(head.replicate)
        self.rows.append(Row(head.clocks, values, *told_by, restart, head.closing, percent))

    def aside(self, metric: str, sentence: str) -> None:
        """Say something on a metric: a warning if it is an eval, else a note."""
        said = self.asides.setdefault(metric, [])
        if sentence not in said:
            said.append(sentence)

    def _key(self, raw: str) -> Key:
        """Decide once what a key is for."""
        name = names.clean(raw.strip())
        use, rank = names.use(name)
        asked = name in self.ask.metrics
        kept = asked or self.all_eval or name.endswith("_stderr") or may_matter(name)
        key = Key("value" if asked else use, rank, Name(name), names.key(name), kept)
        self._keys[raw] = key
        return key

    def _take(self, values: dict[Name, float], key: Key, cell: object, line: int) -> None:
        value, metric = cells.number(cell, self.decimal), key.name.metric
        if value is not None:
            values[key.name], key.seen = value, True
        elif isinstance(cell, str) and not cells.is_nothing(cell) and names.is_eval(metric):
            where = f"line {line}: " if line else ""
            self.aside(metric, f"{where}{cell[:40]!r} is no number: left out")


class _Head:
    """What one record says beside its values."""

    __slots__ = ("clocks", "closing", "ranks", "replicate", "run", "split")

    def __init__(self) -> None:
        self.clocks: dict[str, float | str] = {}
        self.ranks: dict[str, int] = {}
        self.run: list[tuple[str, str]] = []
        self.replicate: list[tuple[str, str]] = []
        self.split, self.closing = "", False

    def take(self, key: Key, cell: object, log: Log) -> None:
        """Take the cell of a key that is no series."""
        use = key.use
        if use in CLOCKS:
            moment = _moment(cell, log)
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


def _moment(cell: object, log: Log) -> float | str | None:
    """Give a moment: a number, or the label that is none ("final"); None = blank."""
    moment = cells.step(cell, log.decimal)
    if isinstance(cell, str) and cells.is_base(cell):
        log.notes.append(f'{log.source}: row "{cells.plain(cell)}" taken as step 0')
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
