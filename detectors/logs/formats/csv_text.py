"""CSV as programs and spreadsheets write it: delimiter, decimal mark, comments, torn lines."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from evalstop.detectors.logs.files import MAX_LINE, LogFile
from evalstop.detectors.logs.rules.cells import is_nothing, is_point_grouped, number
from evalstop.errors import UserError

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 50  # rows that the dialect is told by


@dataclass(frozen=True)
class Dialect:
    """How the cells of a table are parted, and the decimal mark of its numbers."""

    delimiter: str
    decimal: str


class TextRow(NamedTuple):
    """A row: number of its (last) line, its cells, and whether its line has an end."""

    line: int
    cells: list[str]
    ended: bool


def rows(file: LogFile, delimiter: str) -> Iterator[TextRow]:
    """Give the rows of a table, without blank lines and comments."""
    state = {"line": 0, "ended": True}

    def lines() -> Iterator[str]:
        for number_, line in file.lines():
            state["line"], state["ended"] = number_, line.endswith(("\n", "\r"))
            if line.lstrip().startswith("#"):
                continue
            yield line

    limit = csv.field_size_limit(MAX_LINE)  # for all readers of the process, so put back below
    try:
        for cells in csv.reader(lines(), delimiter=delimiter, skipinitialspace=delimiter != "\t"):
            if "".join(cells).strip():
                yield TextRow(state["line"], cells, bool(state["ended"]))
    except csv.Error as told:
        raise UserError(
            f"{file.path}: line {state['line']} is no CSV ({told}), is a quote left open?"
        ) from None
    finally:
        csv.field_size_limit(limit)


def dialect(file: LogFile) -> Dialect | None:
    """Tell the dialect of a table by its first rows, None if this is no table with a header."""
    best: tuple[int, Dialect] | None = None
    for delimiter in DELIMITERS:
        try:
            sample = [row.cells for row in islice(rows(file, delimiter), SAMPLE)]
        except UserError:
            continue
        width = _width(sample)
        if width and (best is None or width > best[0]):
            best = width, Dialect(delimiter, _decimal(sample, delimiter))
    return best[1] if best else None


def _width(sample: list[list[str]]) -> int:
    """Give the number of columns of a table, 0 if the sample is none.

    A table has a header of words, and most of its rows are as wide, with a number among them.
    """
    if not sample:
        return 0
    header, body = sample[0], sample[1:]
    width = len(header)
    named = [cell for cell in header if cell.strip()]
    if not named or any(number(cell) is not None for cell in named):
        return 0
    if "{" in "".join(named) or (width == 1 and any(mark in named[0] for mark in DELIMITERS)):
        return 0
    alike = [row for row in body if len(row) == width]
    if len(alike) * 2 < len(body) or (width == 1 and not body):
        return 0
    if body and not any(_numeric(cell) for row in alike for cell in row):
        return 0
    return width


def _numeric(cell: str) -> bool:
    return number(cell) is not None or (number(cell, ",") is not None and not is_nothing(cell))


def _decimal(sample: list[list[str]], delimiter: str) -> str:
    """Tell the decimal mark: a comma if cells have one and none has a decimal point."""
    cells = [cell for row in sample[1:] for cell in row]
    commas = [c for c in cells if "," in c and number(c, ",") is not None]
    points = [c for c in cells if "." in c and number(c) is not None]
    if delimiter == ";":  # where 1,500 is one and a half, and 1.000 a thousand
        points = [c for c in points if not is_point_grouped(c)]
    elif all(number(c) is not None for c in commas):  # 1,000 in quotes
        return "."
    return "," if commas and not points else "."
