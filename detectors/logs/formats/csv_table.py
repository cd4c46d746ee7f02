"""CSV: a table with a row for each step, or one of the special tables that come as CSV."""

from collections.abc import Iterator
from itertools import islice

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats import monitor, tidy, wandb
from evalstop.detectors.logs.formats.csv_text import Dialect, dialect, ragged, rows
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.problems import NotALogError
from evalstop.detectors.logs.rules.cells import number
from evalstop.detectors.logs.rules.names import clean
from evalstop.detectors.logs.rules.sentences import lines_text, some
from evalstop.detectors.logs.series import Found


def fits(file: LogFile) -> bool:
    """Tell by a header of words above rows of as many cells, or by one that names a step."""
    return dialect(file) is not None or ragged(file) != ""


def read(file: LogFile) -> Found:
    """Read the table by its header."""
    told = dialect(file)
    if told is None:
        raise NotALogError(f"{file.path}: {ragged(file)}")
    first = list(islice(rows(file, told.delimiter), 2))
    header = names_of(first[0].cells)
    if len(first) < 2:
        raise NotALogError(f"{file.path}: there is a header and no rows, has the run started?")
    wandb.refuse_runs_table(header, file)
    if tidy.fits(header):
        return tidy.read(file, told)
    log = Log(str(file.path), file.run, file.ask, decimal=told.decimal)
    if told != Dialect(",", "."):
        mark = "decimal comma" if told.decimal == "," else "decimal point"
        log.notes.append(f"{file.path}: read with delimiter {told.delimiter!r} and {mark}")
    if wandb.is_chart(header):
        wandb.read_chart(table(file, told, log), log)
    elif monitor.fits(header):
        monitor.read(table(file, told, log), log)
    else:
        for record, line, restart in table(file, told, log):
            log.add(record, line=line, restart=restart)
    return assemble(log)


def names_of(cells: list[str]) -> list[str]:
    """Give the names in a header."""
    return [clean(cell.strip()) for cell in cells]


def table(file: LogFile, told: Dialect, log: Log) -> Iterator[tuple[dict[str, str], int, str]]:
    """Give each row as a record, with its line and whether a repeated header restarts the log.

    Rows of another width are left out: a torn last line, text between the rows.
    """
    header: list[str] = []
    odd: list[int] = []
    restart = ""
    for row in rows(file, told.delimiter):
        if not header or (clean(row.cells[0].strip()) in header and _is_header(row.cells, header)):
            if header:
                restart = f"header repeated at line {row.line} (restart?)"
            header = _header(row.cells, log)
        elif len(row.cells) < len(header) and not row.ended:
            log.warnings.append(
                f"{log.source}: line {row.line} is incomplete (run still writing?): skipped"
            )
        elif len(row.cells) < len(header) or "".join(row.cells[len(header) :]).strip():
            odd.append(row.line)
        else:
            yield dict(zip(header, row.cells, strict=False)), row.line, restart
            restart = ""
    if odd:
        log.warnings.append(
            f"{log.source}: {lines_text(odd)}: another number of cells than the header, left out"
        )


def _header(cells: list[str], log: Log) -> list[str]:
    """Give the names of the columns; of columns with one name all but the first lose it."""
    names = names_of(cells)
    doubles = sorted({name for name in names if name and names.count(name) > 1})
    if doubles:
        log.warnings.append(
            f"{log.source}: several columns are called {some(doubles)}: read the first of each"
        )
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    return [name if first[name] == i else "" for i, name in enumerate(names)]


def _is_header(cells: list[str], header: list[str]) -> bool:
    """Tell a header that was written again, perhaps with its columns in another order."""
    names = [name for name in names_of(cells) if name]
    known = sum(name in header for name in names)
    return (
        not any(number(name) is not None for name in names)
        and known * 2 > len(names)
        and known * 2 > len([name for name in header if name])
    )


FORMAT = Format("CSV", fits, read)
