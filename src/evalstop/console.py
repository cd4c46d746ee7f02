"""What every command prints: results on stdout, lines about them on stderr, names as plain text."""

import json
import math
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

T = TypeVar("T")


def plain(text: object) -> str:
    """Strip control characters, so that a name found in a file cannot steer a terminal."""
    return "".join(c if unicodedata.category(c)[0] != "C" else "?" for c in str(text))


def say(level: str, text: object) -> None:
    """Print one line on stderr: ``warning: ...``."""
    print(f"{level}: {plain(text)}", file=sys.stderr, flush=True)


def error(text: object) -> None:
    """Print an error line."""
    say("error", text)


def warnings(texts: Iterable[str]) -> None:
    """Print warning lines, each once."""
    for text in dict.fromkeys(texts):
        say("warning", text)


def notes(texts: Iterable[str]) -> None:
    """Print note lines, each once."""
    for text in dict.fromkeys(texts):
        say("note", text)


def print_json(value: object, *, one_line: bool = False) -> None:
    """Print strict JSON; numbers that it does not have (infinity, NaN) become null."""
    indent = None if one_line else 1
    # Names are not to suffer from the encoding of a terminal or pipe: JSON has a way to write them.
    escape = not str(sys.stdout.encoding).lower().startswith("utf")
    print(
        json.dumps(_finite(value), indent=indent, ensure_ascii=escape, allow_nan=False), flush=True
    )


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], *, dense: bool = False
) -> None:
    """Print a table; every cell is plain text, numbers to the right."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:  # a file or a pipe wants whole lines
        console = Console(width=200)
    columns, rows = list(columns), [list(row) for row in rows]
    made = make_table(title, columns, rows, dense=dense)
    wanted = console.measure(made, options=console.options.update(width=10_000)).maximum
    if wanted > console.width:
        made = make_table(title, columns, rows, dense=True)
    console.print(made)


def make_table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], *, dense: bool = False
) -> "Table":
    """Lay out a table for `table` or for a live display; `dense` puts columns close together.

    A text without a single letter counts as a number.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    made = Table(
        title=Text(title) if title else None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        padding=0 if dense else (0, 1),
        show_edge=not dense,
    )
    for i, column in enumerate(columns):
        right = bool(cells) and all(_is_number(row[i]) for row in cells)
        # Where room is short, texts go on in the next line (cut off, a name would name nothing)
        # and numbers stay whole.
        justify: Literal["left", "right"] = "right" if right else "left"
        made.add_column(Text(column), justify=justify, overflow="fold", no_wrap=right)
    for row in cells:
        made.add_row(*(Text(_cell(c)) for c in row))
    return made


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or not any(c.isalpha() for c in str(value))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return plain(value)


def progress() -> "Progress":
    """Make a progress bar on stderr with the time left; silent when stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def tracked(values: Iterable[T], description: str) -> Iterator[T]:
    """Give the values one by one, behind a progress bar."""
    listed = list(values)
    with progress() as bar:
        yield from bar.track(listed, description=description)
