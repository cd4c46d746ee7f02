"""What every command prints: results on stdout, lines about them on stderr, names as plain text."""

import sys
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table


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


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table; every cell is plain text, numbers to the right."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:  # a file or a pipe wants whole lines
        console = Console(width=200)
    console.print(make_table(title, columns, rows))


def make_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> "Table":
    """Lay out a table for `table` or for a live display."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    made = Table(title=Text(title) if title else None, box=box.SIMPLE_HEAD, title_justify="left")
    for i, column in enumerate(columns):
        right = bool(cells) and all(isinstance(c[i], int | float) for c in cells)
        made.add_column(Text(column), justify="right" if right else "left")
    for row in cells:
        made.add_row(*(Text(_cell(c)) for c in row))
    return made


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
