"""Write to the store: made once, one process of ours at a time, without a word of MLflow's.

A store that we make keeps a write-ahead log: on a busy disk writing takes a quarter of the time,
and whoever reads meanwhile need not wait.
"""

import getpass
import hashlib
import logging
import os
import secrets
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstop.errors import UserError
from evalstop.studies.tracking.store import (
    SQLITE,
    check_store,
    hide_passwords,
    shown,
    sqlite_file,
    tracking_uri,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient

# No telemetry, no links on stdout, and no minutes of waiting for a server that is gone.
DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}

LONGEST_WAIT = 1800.0  # seconds


@contextmanager
def client() -> Iterator["MlflowClient"]:
    """Give a client of the store, made now if it is new; whatever fails is a `UserError`."""
    uri = tracking_uri()
    check_store(uri)
    try:
        with _silence(), _one_at_a_time(uri):
            _make_sqlite(uri)
            from mlflow import MlflowClient

            with _connections():
                yield MlflowClient(uri)
    except UserError:
        raise
    except Exception as error:  # MLflow, its server, its database, its disk: all alike to us
        raise UserError(f"{shown(uri)}: {_reason(error)}") from error


@contextmanager
def _silence() -> Iterator[None]:
    """Keep MLflow's log, its warnings, its links and its telemetry to itself."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mlflow  # noqa: F401 - it sets up its log now

        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


@contextmanager
def _one_at_a_time(uri: str) -> Iterator[None]:
    """Wait for other processes of ours that write to the store; a killed one holds up nobody."""
    user = getattr(os, "getuid", getpass.getuser)()
    name = hashlib.sha256(f"{user} {uri}".encode()).hexdigest()[:16]
    file = Path(tempfile.gettempdir()) / f"evalstop-{name}.lock"
    with closing(sqlite3.connect(file, timeout=0.2, isolation_level=None)) as lock:
        end = time.monotonic() + LONGEST_WAIT
        while True:
            try:
                lock.execute("BEGIN EXCLUSIVE")
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                if time.monotonic() > end:
                    raise UserError(
                        f"{shown(uri)}: another process has been writing to it for "
                        f"{LONGEST_WAIT / 60:.0f} minutes, end it or wait for it"
                    ) from error
        yield


def _make_sqlite(uri: str) -> None:
    """Make the file of a store with its tables, whole or not at all."""
    file = sqlite_file(uri)
    if file is None or file.exists():
        return
    from mlflow import MlflowClient

    file.parent.mkdir(parents=True, exist_ok=True)
    for left_by_a_kill in file.parent.glob(f".{file.name}.*"):
        left_by_a_kill.unlink()
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with closing(sqlite3.connect(new)) as store:
        store.execute("PRAGMA journal_mode=WAL")
    with _connections():
        MlflowClient(f"{SQLITE}{new.as_posix()}").search_experiments(max_results=1)
    new.replace(file)


@contextmanager
def _connections() -> Iterator[None]:
    """Let SQLite wait for the disk once in a while, and close connections in the end.

    So a kill loses nothing, a power cut the last runs, and no log is left beside a file.
    """
    from sqlalchemy import event
    from sqlalchemy.engine import Connection, Engine

    engines: set[Engine] = set()

    def quicken(connection: Any, _: object) -> None:  # noqa: ANN401 - of any database
        if isinstance(connection, sqlite3.Connection):
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            if mode == "wal":
                connection.execute("PRAGMA synchronous=NORMAL")

    def remember(connection: Connection) -> None:
        engines.add(connection.engine)

    hooks = (("connect", quicken), ("engine_connect", remember))
    for name, hook in hooks:
        event.listen(Engine, name, hook)
    try:
        yield
    finally:
        for name, hook in hooks:
            event.remove(Engine, name, hook)
        for engine in engines:
            engine.dispose()


def _reason(error: Exception) -> str:
    """Say in a line what went wrong and what to do."""
    text = " ".join(hide_passwords(str(error)).split())
    if "out-of-date database schema" in text:
        return (
            "was written by another version of MLflow; back it up, then run `mlflow db upgrade "
            "URI`, or install that version"
        )
    if isinstance(error, ModuleNotFoundError):
        return f"needs the package {error.name}, install it"
    return f"{type(error).__name__}: {text[:200]}"
