"""The store that studies are tracked to: which one, made once, one writer at a time, silent.

The default is a file, ``evalstop-out/mlflow.db``; MLflow's own environment variables name any
other. A store that we make keeps a write-ahead log: writing takes a quarter of the time, and
whoever reads meanwhile need not wait.
"""

import getpass
import hashlib
import importlib.util
import logging
import os
import re
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstop.errors import UserError

if TYPE_CHECKING:
    from mlflow import MlflowClient

DEFAULT = Path("evalstop-out") / "mlflow.db"
SQLITE = "sqlite:///"
# No telemetry, no links on stdout, and no minutes of waiting for a server that is gone.
DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}


def tracking_uri() -> str:
    """Give the URI of the store."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}{DEFAULT.resolve().as_posix()}"


def shown(uri: str) -> str:
    """Write a URI for a person: a file by its path from here, without the password of a server."""
    file = sqlite_file(uri)
    if file is not None:
        here = Path.cwd()
        return str(file.relative_to(here) if file.is_relative_to(here) else file)
    return hide_passwords(uri)


def hide_passwords(text: str) -> str:
    """Take passwords out of the URIs in a text.

    >>> hide_passwords("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    return re.sub(r"(://[^:/@\s]*):[^@/\s]*@", r"\1:***@", text)


def sqlite_file(uri: str) -> Path | None:
    """Give the file of a store that is one."""
    return Path(uri.removeprefix(SQLITE)).resolve() if uri.startswith(SQLITE) else None


def artifact_folder(uri: str) -> Path | None:
    """Give the folder for files; ``None`` where a server looks after them."""
    file = sqlite_file(uri)
    if file is not None:
        return file.parent / "mlflow-artifacts"
    if re.match(r"(postgresql|mysql|mssql)\b", uri):
        return DEFAULT.parent.resolve() / "mlflow-artifacts"
    return None


def check_store(uri: str) -> None:
    """Refuse a store of a newer MLflow, or a file that is no store, before MLflow loads."""
    file = sqlite_file(uri)
    if file is None or not file.is_file() or not file.stat().st_size:
        return
    try:
        with closing(sqlite3.connect(file)) as store:
            versions = [row[0] for row in store.execute("SELECT version_num FROM alembic_version")]
    except sqlite3.Error as error:
        raise UserError(
            f"{shown(uri)}: is no store of MLflow ({error}), move it away or name another with "
            "MLFLOW_TRACKING_URI"
        ) from error
    unknown = set(versions) - _known_schemas()
    if unknown:
        raise UserError(
            f"{shown(uri)}: was written by a newer MLflow (schema {', '.join(sorted(unknown))}), "
            "upgrade yours: pip install -U mlflow"
        )


def _known_schemas() -> set[str]:
    """Give the schemas that the installed MLflow knows, without loading it."""
    found = importlib.util.find_spec("mlflow")
    if found is None or found.origin is None:
        raise UserError("MLflow is not installed: pip install mlflow")
    migrations = Path(found.origin).parent / "store" / "db_migrations" / "versions"
    return {file.name.partition("_")[0] for file in migrations.glob("*.py")}


@contextmanager
def client() -> Iterator["MlflowClient"]:
    """Give a client of the store, made now if it is new; whatever fails is a `UserError`."""
    uri = tracking_uri()
    check_store(uri)
    try:
        with _silence(), _one_at_a_time(uri):
            _make_sqlite(uri)
            from mlflow import MlflowClient

            with _quick_sqlite():
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
    name = hashlib.sha256(f"{getpass.getuser()} {uri}".encode()).hexdigest()[:16]
    file = Path(tempfile.gettempdir()) / f"evalstop-{name}.lock"
    with closing(sqlite3.connect(file, timeout=0.2, isolation_level=None)) as lock:
        while True:
            try:
                lock.execute("BEGIN EXCLUSIVE")
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
        yield


def _make_sqlite(uri: str) -> None:
    file = sqlite_file(uri)
    if file is None or file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as store:
        store.execute("PRAGMA journal_mode=WAL")


@contextmanager
def _quick_sqlite() -> Iterator[None]:
    """Wait for the disk once in a while; a kill loses nothing, a power cut the last runs."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def connected(connection: Any, _: object) -> None:  # noqa: ANN401 - of any database
        if isinstance(connection, sqlite3.Connection):
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            if mode == "wal":
                connection.execute("PRAGMA synchronous=NORMAL")

    event.listen(Engine, "connect", connected)
    try:
        yield
    finally:
        event.remove(Engine, "connect", connected)


def _reason(error: Exception) -> str:
    """Say in a line what went wrong and what to do."""
    text = " ".join(hide_passwords(str(error)).split())
    if "out-of-date database schema" in text:
        return (
            "was written by another version of MLflow; back it up, then run `mlflow db upgrade "
            "URI`, or install that version"
        )
    if "Max retries exceeded" in text or "Connection refused" in text:
        return "nobody answers there, start the server or unset MLFLOW_TRACKING_URI"
    return f"{type(error).__name__}: {text[:200]}"
