"""Rows of a trace, and errors that name the file, the row and the column."""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from evalstop.detectors.settings import nearest
from evalstop.detectors.words import plural
from evalstop.errors import UserError
from evalstop.simulator.exact import exact, ratio

EMPTY = ("", "none", "null", "nan", "na", "n/a", "nat")


class Entry(NamedTuple):
    """A job as a trace states it; times in seconds, `gpus` may be a part of a GPU."""

    id: str
    submit: float
    gpus: float
    duration: float
    type: str = ""
    tenant: str = ""
    estimate: float | None = None


@dataclass(frozen=True)
class Row:
    """One row: `where` says which ("trace.csv: row 7"), `cells` are its values by column."""

    where: str
    cells: dict[str, str]

    def error(self, column: str, problem: str) -> UserError:
        """Make an error about one cell."""
        return UserError(
            f"{self.where}, column {column}: {problem}, got {self.cells.get(column, '')!r}"
        )

    def column(self, *names: str) -> str:
        """Give the first of some names of a column that the row has."""
        return next((n for n in names if n in self.cells), names[0])

    def text(self, *names: str) -> str:
        """Read a cell as it is; empty when there is no such column."""
        return self.cells.get(self.column(*names), "").strip()

    def number(self, *names: str) -> float:
        """Read a finite number of at least 0."""
        column = self.column(*names)
        try:
            value = exact(self.text(column))
        except ValueError:
            raise self.error(column, "it must be a number") from None
        if value < 0:
            raise self.error(column, "it must be at least 0")
        return value

    def whole(self, *names: str) -> int:
        """Read a whole number of at least 1."""
        value = self.number(*names)
        if not isinstance(value, int) or value < 1:
            raise self.error(self.column(*names), "it must be a whole number of at least 1")
        return value

    def time(self, *names: str) -> float:
        """Read a moment: seconds, or a date and time (UTC unless it says otherwise) since 1970."""
        column = self.column(*names)
        text = self.text(column)
        try:
            return exact(text)
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise self.error(column, "it must be seconds or a date and time") from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return ratio(since // timedelta(microseconds=1), 10**6)

    def missing(self, *names: str) -> bool:
        """Whether the trace leaves this cell open."""
        return self.text(*names).lower() in EMPTY


Reader = Callable[[Row], Entry | None]


@dataclass(frozen=True)
class Format:
    """A known header.

    Parameters
    ----------
    name : str
        Whose traces look so.
    columns : tuple of tuple of str
        Columns that tell it from others; of the names in one tuple, any will do.
    read : callable
        Makes an entry of a row; None = no job that ran on GPUs.
    """

    name: str
    columns: tuple[tuple[str, ...], ...]
    read: Reader

    def knows(self, header: list[str]) -> bool:
        """Whether a header is of this format."""
        return all(any(name in header for name in names) for names in self.columns)


def rows(path: Path, text: str, formats: tuple[Format, ...]) -> Iterator[tuple[Format, Row]]:
    """Give the rows of a CSV file, blank ones left out, with the format of its header."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [cell.strip() for cell in next(reader, [])]
        found = next((f for f in formats if f.knows(header)), None)
        if found is None:
            raise UserError(_unknown(path, header, formats))
        twice = next((name for name in header if name and header.count(name) > 1), None)
        if twice:
            raise UserError(f"{path}: column {twice} is there twice, keep one of them")
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{path}: row {reader.line_num}"
            if len(cells) != len(header):
                raise UserError(
                    f"{where}: it has {plural(len(cells), 'cell')} and the header {len(header)}, "
                    "mend it"
                )
            yield found, Row(where, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise UserError(f"{path}: row {reader.line_num}: {error}, mend it") from None


def _unknown(path: Path, header: list[str], formats: tuple[Format, ...]) -> str:
    """Say what a header lacks of the format that it is nearest to."""
    if not header:
        return f"{path}: the file is empty, give a trace with a header"
    known = {f: [n for n in f.columns if not any(name in header for name in n)] for f in formats}
    best = min(formats, key=lambda f: len(known[f]) / len(f.columns))
    lacking = known[best][0][0]
    return (
        f"{path}: row 1: the header is of no known format; nearest is {best.name}, which has a "
        f"column {lacking} ({nearest(lacking, header)}); write "
        "job_id,submit_time,gpus,duration[,type]"
    )
