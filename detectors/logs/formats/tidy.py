"""Tidy curves: a row for each eval, ``run,metric,step,value``, as ``evalstop read --csv`` writes.

Further columns are optional: ``role, source, higher_is_better, stderr``; the channels ``loss`` (or
``train_loss``), ``proxy``, ``kl``, ``progress`` with one value per eval; ``curve_id``, which then
tells the curves apart; all others with one value per curve are labels.
"""

import math
from collections.abc import Iterable, Mapping
from typing import get_args

from evalstop.detectors.logs.curve import Role
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats.csv_text import Dialect, rows
from evalstop.detectors.logs.log import Ask
from evalstop.detectors.logs.problems import NoCurveError
from evalstop.detectors.logs.rules.branches import Point, equal
from evalstop.detectors.logs.rules.cells import is_nothing, number, step
from evalstop.detectors.logs.rules.names import clean, is_eval, use
from evalstop.detectors.logs.rules.roles import channel, is_train
from evalstop.detectors.logs.rules.sentences import lines_text, some
from evalstop.detectors.logs.series import Found, Run, Series

CHANNELS: dict[str, Role] = {
    "loss": "train_loss",
    "train_loss": "train_loss",
    "proxy": "proxy_reward",
    "kl": "kl",
    "progress": "signal",
}
OWN = frozenset(["run", "metric", "value", "stderr", "higher_is_better", "role"])
YES, NO = ("1", "1.0", "true", "yes", "higher"), ("0", "0.0", "false", "no", "lower")
Record = Mapping[str, str]


def fits(header: list[str]) -> bool:
    """Tell by columns for metric, value and step."""
    return {"metric", "value"} <= set(header) and _clock(header) is not None


def read(file: LogFile, told: Dialect) -> Found:
    """Read all curves and the channels beside them."""
    reader = rows(file, told.delimiter)
    header = [clean(cell.strip()) for cell in next(reader).cells]
    found, odd, unread = Found(), [], []
    clock = _clock(header) or "step"
    curves: dict[tuple[str, ...], list[Record]] = {}
    for row in reader:
        record = dict(zip(header, row.cells, strict=False))
        at = step(record.get(clock, ""), told.decimal)
        if at is None or len(row.cells) != len(header):
            if row.cells != header:
                odd.append(row.line)
            continue
        run = record.get("run", file.run)  # two sources may both have a run called seed-0
        named = (record.get("source", ""), run, record["metric"], record.get("role", ""))
        key = (record["curve_id"],) if record.get("curve_id") else named
        curves.setdefault(key, []).append(record)
        if number(record["value"], told.decimal) is None and not is_nothing(record["value"]):
            unread.append(row.line)
    if odd:
        found.warnings.append(f"{file.path}: {lines_text(odd)}: no row of a curve, left out")
    if unread:
        found.warnings.append(f"{file.path}: {lines_text(unread)}: value is no number, left out")
    tables = [Table(records, clock, told.decimal, file.run) for records in curves.values()]
    by_run: dict[str, list[Table]] = {}
    for table in tables:
        by_run.setdefault(table.run, []).append(table)
    told_apart = any(is_eval(table.metric) for table in tables)
    for run, own in by_run.items():
        series = [s for t in own if (s := t.curve(t.role(told_apart, file.ask))) is not None]
        if series:
            series += _channels(own)
            found.runs.append(Run(run, str(file.path), series, "equal"))
    if not any(s.role == "eval" for run in found.runs for s in run.series):
        listed = some([t.metric for t in tables], 12) or "nothing"
        raise NoCurveError(
            f"{file.path}: no eval series in it (found: {listed}), name one with --metric"
        )
    return found


class Table:
    """The rows of one curve."""

    def __init__(self, records: list[Record], clock: str, decimal: str, run: str) -> None:
        first = records[0]
        self.records, self.clock, self.decimal = records, clock, decimal
        self.run = clean(first.get("run", run))
        self.metric = clean(first["metric"])
        names = [n for n in first if n and n not in OWN and n not in CHANNELS and n != clock]
        self.labels = {
            name: first[name] for name in names if all(r[name] == first[name] for r in records)
        }

    def points(self, column: str) -> list[Point]:
        """Give the points of a column; blank cells are none."""
        told = []
        for record in self.records:
            value = number(record[column], self.decimal)
            at = step(record[self.clock], self.decimal)
            if value is not None and at is not None:
                stderr = number(record.get("stderr", ""), self.decimal)
                told.append(Point(at, value, math.nan if stderr is None else stderr))
        return told

    def role(self, named: bool, ask: Ask) -> Role | None:
        """Give the role: as asked, as its column tells, as its name tells, else an eval.

        `named` says that other metrics of the file are called evals.
        """
        if self.metric in ask.metrics:
            return "eval"
        told = next((r for r in get_args(Role) if r == self.records[0].get("role")), None)
        train_side = channel(self.metric)
        if told is None and named and not is_eval(self.metric) and is_train(self.metric):
            told = train_side[0] if train_side else "signal"
        if ask.metrics and told in (None, "eval"):
            return None
        return told or "eval"

    def curve(self, role: Role | None) -> Series | None:
        """Give the curve itself, None if it is not wanted or holds no value."""
        points = self.points("value")
        if role is None or not points:
            return None
        higher = {r.get("higher_is_better", "").strip().lower() for r in self.records}
        direction = True if higher <= set(YES) else False if higher <= set(NO) else None
        return Series(self.metric, role, [points], told=direction, labels=self.labels)


def _clock(header: list[str]) -> str | None:
    """Give the column of the steps."""
    clocks = [name for name in header if use(name)[0] == "step"]
    return min(clocks, key=lambda name: use(name)[1]) if clocks else None


def _channels(tables: Iterable[Table]) -> list[Series]:
    """Give the channels of a run: one series where its curves agree, else one for each curve."""
    made: list[Series] = []
    for column, role in CHANNELS.items():
        each = [(t, t.points(column)) for t in tables if column in t.records[0]]
        each = [(t, [p._replace(stderr=math.nan) for p in points]) for t, points in each if points]
        at: dict[float, Point] = {}
        agree = all(
            equal(at.setdefault(p.step, p).value, p.value) for _, points in each for p in points
        )
        if each and agree:
            made.append(Series(column, role, [list(at.values())]))
        else:
            made += [Series(column, role, [points], labels=t.labels) for t, points in each]
    return made
