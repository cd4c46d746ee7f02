"""Where trials are kept: a journal file, or whatever database an Optuna URL names.

Optuna and SQLAlchemy are imported here and in `trials` only; both take a while.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from evalstop.errors import UserError

if TYPE_CHECKING:
    from io import BufferedRandom

T = TypeVar("T")
TRIES = 6  # to make the tables of a fresh database while others do the same


class FileLock(JournalFileOpenLock):
    """A lock of the operating system on a file of its own: it ends with a killed process.

    Optuna's own lock is a file that a killed process leaves behind; all others then wait for half a
    minute.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path
        self._file: BufferedRandom | None = None

    def acquire(self) -> bool:
        """Wait for it."""
        import fcntl

        self._file = self._path.open("a+b")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        """Let the next one have it."""
        if self._file is not None:
            self._file.close()
            self._file = None


@contextmanager
def open_storage(where: str | Path) -> Iterator[BaseStorage]:
    """Open a storage, and close its connections.

    Parameters
    ----------
    where : str or Path
        An Optuna URL (``sqlite:///trials.db``, ``postgresql://user@host/name``), or the path of a
        journal file, made if it is not there.

    Raises
    ------
    UserError
        If a database cannot be reached, passwords are not shown; or a journal not be written.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if "://" not in str(where):
        try:
            yield JournalStorage(_journal(Path(where)))
        except OSError as error:  # a full disk is met when a trial is told
            raise UserError(
                f"{where}: cannot be written: {error.strerror}, check the path"
            ) from error
        return
    url = _with_driver(str(where))
    # The default wait of sqlite is too short for several writers on a slow disk.
    options = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    storage = insist(lambda: RDBStorage(url, engine_kwargs=options), f"storage {_shown(url)}")
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def insist(make: Callable[[], T], what: str) -> T:
    """Try again what fails when others make the same tables or rows at the same time."""
    for attempt in range(TRIES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return make()
        except Exception as error:  # any error of any driver
            if attempt == TRIES - 1 or isinstance(error, ImportError):
                told = " ".join(str(error).split("\n")[0].split()) or type(error).__name__
                raise UserError(
                    f"{what}: cannot be used, {told}; check the URL of the storage, that its "
                    "driver is installed and the database is there"
                ) from error
            time.sleep(0.1 * 2**attempt)
    raise AssertionError


def _journal(path: Path) -> JournalFileBackend:
    """Open a journal; a last line that a crash has cut short would spoil the next one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl  # noqa: F401 - not on every system; then Optuna's lock has to do
    except ImportError:
        return JournalFileBackend(str(path))
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    lock.acquire()
    try:
        content = path.read_bytes() if path.exists() else b""
        if content and not content.endswith(b"\n"):
            with path.open("r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)
    finally:
        lock.release()
    return JournalFileBackend(str(path), lock_obj=lock)


def _with_driver(url: str) -> str:
    """Name the driver of PostgreSQL that is installed, unless the URL names one."""
    if url.startswith("postgresql://") and not find_spec("psycopg2") and find_spec("psycopg"):
        return url.replace("postgresql://", "postgresql+psycopg://", 1)
    return url


def _shown(url: str) -> str:
    """Write a URL without its password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "of this URL"
