"""MLflow's sqlite store, read without MLflow and without leaving a trace.

A database in WAL mode keeps its newest rows in a file beside it, and opening it in place would
create or change such files. It is therefore copied, both files of one moment, and the copy read;
any other database is opened read-only.
"""

import contextlib
import math
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import copyfile

from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.formats.mlflow import Logged, all_runs, read_run
from evalstop.detectors.logs.problems import NoCurveError, NotALogError
from evalstop.detectors.logs.rules.cells import number
from evalstop.detectors.logs.rules.names import clean
from evalstop.detectors.logs.series import Found
from evalstop.errors import UserError

MAGIC = b"SQLite format 3\0"
WAL_MODE = b"\x02\x02"  # bytes 18 and 19 of the file
PATIENCE = 60.0  # seconds that a query may take
LARGEST = 1.797e308  # what MLflow writes for infinity
SIDE_FILES = ("", "-wal", "-journal")

RUNS = "SELECT run_uuid, name FROM runs WHERE lifecycle_stage = 'active' ORDER BY start_time"
NAMES = "SELECT run_uuid, value FROM tags WHERE key = 'mlflow.runName'"
METRICS = "SELECT run_uuid, key, timestamp, value, step, is_nan FROM metrics"


def fits(file: LogFile) -> bool:
    """Tell by the first bytes."""
    return file.head.startswith(MAGIC)


def read(file: LogFile) -> Found:
    """Read all runs that were not deleted."""
    try:
        with opened(file) as database:
            return _read(file, database)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise UserError(
            f"{file.path}: the SQLite database cannot be read ({why}); is it damaged, or being "
            "written? Retry, or copy it with sqlite3 .backup"
        ) from None


@contextlib.contextmanager
def opened(file: LogFile) -> Iterator[sqlite3.Connection]:
    """Open a database so that nothing beside it is created or changed."""
    with contextlib.ExitStack() as stack:
        path, query = file.path.resolve(), "mode=ro"
        if file.head[18:20] == WAL_MODE or path.with_name(path.name + "-wal").exists():
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            path, query = _copy(path, Path(folder)), "mode=rw"
        address = f"{path.as_uri()}?{query}"
        database = stack.enter_context(contextlib.closing(sqlite3.connect(address, uri=True)))
        end = time.monotonic() + PATIENCE
        database.text_factory = partial(str, encoding="utf-8", errors="replace")
        database.set_progress_handler(lambda: time.monotonic() > end, 100_000)
        yield database


def _copy(path: Path, folder: Path) -> Path:
    """Copy a database and what belongs to it; again if it changed in the meantime."""
    for _ in range(20):
        before = _state(path)
        for ending in SIDE_FILES:
            side = path.with_name(path.name + ending)
            copy = folder / f"copy.db{ending}"
            copy.unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                copyfile(side, copy)
        if _state(path) == before:
            return folder / "copy.db"
        time.sleep(0.05)
    raise UserError(f"{path}: the database changes faster than it can be copied: retry")


def _state(path: Path) -> list[tuple[int, int]]:
    """Give size and time of change of a database and of the files beside it."""
    told = []
    for ending in SIDE_FILES:
        try:
            status = path.with_name(path.name + ending).stat()
        except FileNotFoundError:
            told.append((-1, -1))
        else:
            told.append((status.st_size, status.st_mtime_ns))
    return told


def _read(file: LogFile, database: sqlite3.Connection) -> Found:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if not {"runs", "metrics"} <= tables:
        raise NotALogError(f"{file.path}: this SQLite database has no MLflow runs in it")
    names = dict(database.execute(NAMES)) if "tags" in tables else {}
    runs = {
        str(run_id): clean(str(names.get(run_id) or name or run_id))
        for run_id, name in database.execute(RUNS)
    }
    logged: dict[str, list[Logged]] = {run_id: [] for run_id in runs}
    for run_id, metric, moment, value, step, is_nan in database.execute(METRICS):
        at, told, count = number(moment), number("nan" if is_nan else value), number(step)
        if run_id in logged and at is not None and told is not None and count is not None:
            told = math.copysign(math.inf, told) if abs(told) >= LARGEST else told
            logged[run_id].append(Logged(clean(str(metric)), at, told, count))
    found: dict[str, tuple[str, Found | NoCurveError]] = {}
    for run_id, name in runs.items():
        try:
            found[run_id] = name, read_run(str(file.path), name, file.ask, logged[run_id])
        except NoCurveError as none:
            found[run_id] = name, none
    if not runs:
        raise NoCurveError(f"{file.path}: no eval metric: there are no runs in it")
    return all_runs(str(file.path), found)


FORMAT = Format("MLflow database", fits, read)
