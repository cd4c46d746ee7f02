"""A log as its format gives it, before any rule on curves: rows with clocks, values and a run.

A format calls `Log.add` for every record it finds, in the order of the file. What the keys of a
record are for is decided here, once for all formats.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalstop.detectors.logs.record import Head, Key, flat, long_form
from evalstop.detectors.logs.rules import cells, names
from evalstop.detectors.logs.rules.roles import Name, may_matter


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
        head, values = Head(), dict[Name, float]()
        percent: tuple[str, ...] = ()
        for raw, cell in flat(long_form(record) if "value" in record else record):
            if cell is None or cell == "":
                continue
            key = self._keys.get(raw) or self._key(raw)
            if key.use != "value":
                head.take(key, cell, self.decimal)
            elif key.kept or not key.seen:
                self._take(values, key, cell, line)
                if isinstance(cell, str) and "%" in cell:
                    percent += (key.name.metric,)
        self.notes += [f'{self.source}: row "{base}" taken as step 0' for base in head.bases]
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
