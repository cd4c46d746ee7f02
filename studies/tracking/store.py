"""The store that studies are tracked to: which one, and whether it can be.

The default is a file, ``evalstop-out/mlflow.db``; MLflow's own environment variables name any
other. Nothing here loads MLflow, which takes seconds.
"""

import importlib.util
import os
import re
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from evalstop.errors import UserError

DEFAULT = Path("evalstop-out") / "mlflow.db"
SQLITE = "sqlite:///"
PORTS = {"http": 80, "https": 443, "postgresql": 5432, "mysql": 3306, "mssql": 1433}


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
    """Refuse what cannot be written to, before MLflow loads and tries again and again.

    Raises
    ------
    UserError
        If the store was written by a newer MLflow, is none, or is a server that does not answer.
    """
    file = sqlite_file(uri)
    if file is None:
        _check_server(uri)
    elif file.is_file() and file.stat().st_size:
        _check_file(uri, file)


def _check_server(uri: str) -> None:
    try:
        parts = urlsplit(uri)
        scheme, host = parts.scheme.partition("+")[0], parts.hostname
        port = parts.port or PORTS.get(scheme)
    except ValueError as error:
        raise UserError(f"{shown(uri)}: is no address ({error}), mend it") from None
    if scheme == "file" or uri.startswith((".", "/")):
        raise UserError(
            f"{shown(uri)}: MLflow no longer writes to folders, name a database: "
            f"MLFLOW_TRACKING_URI={SQLITE}mlflow.db"
        )
    if not host or not port or (scheme in getproxies() and not proxy_bypass(host)):
        return
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        raise UserError(
            f"{shown(uri)}: nobody answers there ({error.strerror or error}), start the server or "
            "unset MLFLOW_TRACKING_URI"
        ) from error


def _check_file(uri: str, file: Path) -> None:
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
