"""Weights & Biases: the CSV of a chart, and the CSV of a table of runs, which is no curve.

A chart has a column ``RUN - METRIC`` for each run, with ``__MIN`` and ``__MAX`` columns beside it.
"""

from collections.abc import Iterable, Mapping

from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.log import Log
from evalstop.errors import UserError

SEPARATOR = " - "
RUNS_TABLE = frozenset(
    [
        *("State", "Created", "Runtime", "End Time", "ID", "Notes", "User", "Tags", "Updated"),
        *("Sweep", "Hostname", "Commit", "GitHub", "Group", "Job Type"),
    ]
)


def refuse_runs_table(header: list[str], file: LogFile) -> None:
    """Refuse a table with one row a run: it has the last value of each run, not its history."""
    if "Name" in header and len(RUNS_TABLE.intersection(header)) >= 2:
        raise UserError(
            f"{file.path}: this is a W&B runs table (one row a run), not a curve; export the chart "
            "of a metric as CSV, or the history of each run"
        )


def is_chart(header: list[str]) -> bool:
    """Tell by columns that name run and metric."""
    named = [name for name in header[1:] if SEPARATOR in name]
    if any(name.endswith(("__MIN", "__MAX")) for name in named):
        return True
    return len(named) > 0 and len(named) == len(header) - 1


def read_chart(table: Iterable[tuple[Mapping[str, str], int, str]], log: Log) -> None:
    """Read each column as a series of its run; a blank cell is no point."""
    log.own_run = False
    for record, line, _ in table:
        (clock, moment), *columns = record.items()
        runs: dict[str, dict[str, str]] = {}
        for name, cell in columns:
            run, separator, metric = name.rpartition(SEPARATOR)
            if separator:
                runs.setdefault(run, {})[metric] = cell
        for run, cells in runs.items():
            log.add({**cells, clock: moment, "run": run}, line=line)
    if log.rows and clock == "Step":
        log.warnings.append(f"{log.source}: Step is W&B's own counter, not the trainer's step")
