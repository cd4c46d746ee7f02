"""CSV as programs and spreadsheets write it: delimiter, decimal mark, comments, torn lines."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from evalstop.detectors.logs.files import MAX_LINE, LogFile
from evalstop.detectors.logs.rules.cells import is_nothing, is_point_grouped, number
from evalstop.detectors.logs.rules.names import clean, use
from evalstop.detectors.words import plural
from evalstop.errors import UserError

DELIMITERS = (",", ";", "\t", "|")
SPACE = " "  # any number of them, where nothing else parts the cells
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
    """Give the rows of a table, without blank lines, comments and Excel's ``sep=;``.

    A row with a quote that is left open is no row, since it has swallowed those that follow.
    """
    lines = _Lines(file)
    limit = csv.field_size_limit(MAX_LINE)  # for all readers of the process, so put back below
    try:
        for cells in csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t"):
            if lines.exhausted:  # the reader asked for more lines to close a quote
                file.warnings.append(
                    f"{file.path}: line {lines.first}: a quote is left open, not read from there"
                )
            elif "".join(cells).strip():
                yield TextRow(lines.last, cells, lines.ended)
            lines.first = 0
    except csv.Error as error:
        raise UserError(f"{file.path}: line {lines.last} is no CSV ({error})") from None
    finally:
        csv.field_size_limit(limit)


class _Lines:
    """The lines of a file for a CSV reader, with what it cannot tell of a row.

    `first` and `last` are the lines of the row, `ended` whether its last line has an end,
    `exhausted` whether there are no more lines.
    """

    def __init__(self, file: LogFile) -> None:
        self._lines = file.lines()
        self.first = self.last = 0
        self.ended, self.exhausted = True, False

    def __iter__(self) -> Iterator[str]:
        for number_, line in self._lines:
            if self.first or not line.lstrip().startswith(("#", "sep=")):
                self.first, self.last = self.first or number_, number_
                self.ended = line.endswith(("\n", "\r"))
                yield line
        self.exhausted = True


def dialect(file: LogFile) -> Dialect | None:
    """Tell the dialect of a table by its first rows, None if this is no table with a header."""
    best: tuple[int, Dialect] | None = None
    for delimiter in (*DELIMITERS, SPACE):
        if best and delimiter == SPACE:
            break
        sample = [row.cells for row in _sample(file, delimiter)]
        width = _width(sample)
        if width and (best is None or width > best[0]):
            best = width, Dialect(delimiter, _decimal(sample, delimiter))
    return best[1] if best else None


def ragged(file: LogFile) -> str:
    """Say which row is not as wide as a header that names a step, where most are not; else ""."""
    for delimiter in DELIMITERS:
        sample = _sample(file, delimiter)
        width = len(sample[0].cells) if sample else 0
        odd = [row for row in sample[1:] if len(row.cells) != width]
        if odd and width > 1 and any(use(clean(c.strip()))[0] == "step" for c in sample[0].cells):
            cells = plural(len(odd[0].cells), "cell")
            return f"line {odd[0].line}: it has {cells} and the header {width}, mend it"
    return ""


def _sample(file: LogFile, delimiter: str) -> list[TextRow]:
    """Give the first rows, none if they are no CSV; of a guess nothing is said."""
    said = len(file.warnings)
    try:
        return list(islice(rows(file, delimiter), SAMPLE))
    except UserError:
        return []
    finally:
        del file.warnings[said:]


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
