"""A log as its format gives it, before any rule on curves: rows with clocks, values and a run.

A format calls `Log.add` for every record it finds, in the order of the file. What the keys of a
record are for is decided here, once for all formats.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalstop.detectors.logs.rules import cells, names
from evalstop.detectors.logs.rules.roles import Name, may_matter

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

    def add(self, record: Mapping[str, Any], *, line: int = 0, restart: str = "") -> None:
        """Take one record: its clocks, its run, and every number that may become a point."""
        clocks: dict[str, float | str] = {}
        ranks: dict[str, int] = {}
        numbers: dict[str, float] = {}
        percent: tuple[str, ...] = ()
        run, replicate, split, closing = [], [], "", False
        for name, cell in flat(long_form(record)):
            use, rank = names.use(name)
            if use == "value" or name in self.ask.metrics:
                self._take(numbers, name, cell, line)
                if name in numbers and cells.is_percent(cell):
                    percent += (name,)
            elif use == "run" and is_label(cell):
                run.append((names.key(name), names.clean(str(cell))))
            elif use == "split":
                told = str(cell).strip().lower()
                split = told if told in names.EVAL_WORDS | names.TRAIN_WORDS else split
            elif use == "closing":
                closing = closing or cells.number(cell) is not None
            elif use in ("replicate", "episode") and is_label(cell):
                replicate.append((names.key(name), str(cell).strip()))
            if use in ("step", "wandb", "epoch", "episode") and ranks.get(use, rank) >= rank:
                moment = self._moment(cell)
                if moment is not None:
                    clocks[use], ranks[use] = moment, rank
        values = {Name(name, split): value for name, value in numbers.items()}
        if not values.keys() <= self.found.keys():
            self.found.update(dict.fromkeys(values))
        if closing:  # a summary is no point; but W&B and spreadsheets may join evals to its row
            values = {n: v for n, v in values.items() if names.is_eval(n.metric)}
        kept = {n: v for n, v in values.items() if self._is_kept(n)}
        told_by = tuple(run), tuple(replicate)
        self.rows.append(Row(clocks, kept, *told_by, restart, closing, percent))

    def aside(self, metric: str, sentence: str) -> None:
        """Say something on a metric: a warning if it is an eval, else a note."""
        said = self.asides.setdefault(metric, [])
        if sentence not in said:
            said.append(sentence)

    def _take(self, numbers: dict[str, float], name: str, cell: object, line: int) -> None:
        value = cells.number(cell, self.decimal)
        if value is not None:
            numbers[name] = value
        elif isinstance(cell, str) and not cells.is_nothing(cell) and names.is_eval(name):
            where = f"line {line}: " if line else ""
            self.aside(name, f"{where}{cell[:40]!r} is no number: left out")

    def _is_kept(self, name: Name) -> bool:
        metric = name.metric
        if metric in self.ask.metrics or metric.endswith("_stderr"):
            return True
        return self.all_eval or name.split != "" or may_matter(metric)

    def _moment(self, cell: object) -> float | str | None:
        """Give a moment: a number, or the label that is none ("final"); None = blank."""
        if cells.is_nothing(cell) or isinstance(cell, bool | list):
            return None
        if cells.is_base(cell):
            self.notes.append(f'{self.source}: row "{cells.plain(str(cell))}" taken as step 0')
        moment = cells.step(cell, self.decimal)
        return str(cell)[:80] if moment is None else moment


def is_label(cell: object) -> bool:
    """Tell whether a cell can name a run or a repeat."""
    return isinstance(cell, str | int) and not isinstance(cell, bool) and str(cell).strip() != ""


def long_form(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn ``{"metric": M, "value": V, ...}`` into ``{M: V, ...}``; leave other records alone."""
    if "value" not in record:
        return record
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
        name = names.clean(str(key).strip())
        if isinstance(cell, Mapping):
            if depth < MAX_DEPTH:
                inner = prefix if name.lower() in names.CONTAINERS else f"{prefix}{name}/"
                yield from flat(cell, inner, depth + 1)
        elif name:
            yield prefix + name, cell
