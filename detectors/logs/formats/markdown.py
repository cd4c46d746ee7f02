"""Markdown tables: the results table of a model card, a table of checkpoints in a report."""

import re
from collections.abc import Iterator
from itertools import islice

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.problems import NotALogError
from evalstop.detectors.logs.rules.cells import plain, step
from evalstop.detectors.logs.rules.names import use
from evalstop.detectors.logs.series import Found

FIRST_LINES = 2000  # in which a table is looked for
_RULE = re.compile(r":?-+:?")
_FOOTNOTE = re.compile(r"[\d%]\s*(\\?\*|†|‡|\[\^?\w+\])+\s*$")


def fits(file: LogFile) -> bool:
    """Tell by a header row above a row of dashes."""
    return b"|" in file.head and b"-" in file.head and any(tables(file, FIRST_LINES))


def read(file: LogFile) -> Found:
    """Read every table whose rows are steps; other tables of the text are passed over."""
    log = Log(str(file.path), file.run, file.ask, ordered=False)
    for header, rows in tables(file):
        clock = _clock(header, rows)
        if clock is None:
            continue
        for cells in rows:
            record = dict(zip(header, cells, strict=False))
            log.notes += [
                f"{file.path}: footnote mark stripped from {cell}"
                for cell in cells
                if _FOOTNOTE.search(cell) and not cell.startswith("*")
            ]
            log.add(
                {n: c for n, c in record.items() if n != clock} | {"step": record[clock]}
                if use(clock)[0] == "value"
                else record
            )
    if not log.rows:
        raise NotALogError(f"{file.path}: none of its tables has a column of steps")
    return assemble(log)


def tables(file: LogFile, most: int | None = None) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Give the header and the rows of each table, in the first `most` lines."""
    before = ""
    header: list[str] = []
    rows: list[list[str]] = []
    for _, line in islice(file.lines(), most):
        if not header and "|" in line and "|" in before and all(map(_RULE.fullmatch, _cells(line))):
            header, rows = _cells(before), []
        elif header and "|" in line:
            rows.append(_cells(line))
        elif header:
            yield header, rows
            header = []
        before = line
    if header:
        yield header, rows


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", inner)]


def _clock(header: list[str], rows: list[list[str]]) -> str | None:
    """Give the column that tells the steps: by its name, else the first if its cells are steps."""
    for wanted in ("step", "epoch"):
        for name in header:
            if use(plain(name))[0] == wanted:
                return name
    labels = [step(row[0]) for row in rows if row]
    steps = [label for label in labels if label is not None]
    return header[0] if len(steps) * 2 > len(labels) else None


FORMAT = Format("Markdown table", fits, read)
