"""Where the work is done: on this machine, or by the workers of a dask scheduler."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evalstop import __version__
from evalstop.errors import UserError

if TYPE_CHECKING:
    from distributed import Client

BACKENDS = ("local", "dask")
PATIENCE = 20  # seconds to wait for a scheduler and its first worker


@contextmanager
def workers(backend: str = "local", address: str | None = None, jobs: int = 0) -> Iterator[int]:
    """Have everything inside that uses joblib done by some workers; give how many there are.

    Parameters
    ----------
    backend : {"local", "dask"}
        Processes of this machine, or a dask cluster (extra ``dask``).
    address : str, optional
        Of its scheduler: ``tcp://host:8786``.
    jobs : int
        Processes of this machine; 0 = one for each processor. A cluster has what it has.

    Raises
    ------
    UserError
        If there is no such scheduler, or its workers lack this version of evalstop.
    """
    if backend not in BACKENDS:
        raise UserError(f"backend: must be one of {', '.join(BACKENDS)}, got {backend}")
    if (backend == "dask") != (address is not None):
        raise UserError("--backend dask and --scheduler-address belong together, give both")
    if jobs < 0:
        raise UserError(f"jobs: must be at least 1, or 0 for all processors, got {jobs}")
    if address is None:
        from joblib import cpu_count

        # Workers would import a json.py or numpy.py that lies in the working directory.
        os.environ.setdefault("PYTHONSAFEPATH", "1")
        yield jobs or cpu_count()
        return
    with _cluster(address) as n_workers:
        yield n_workers


@contextmanager
def _cluster(address: str) -> Iterator[int]:
    """Connect to a scheduler, and see to it that its workers compute what we would."""
    from joblib import parallel_config

    try:
        from distributed import Client
    except ImportError:
        raise UserError(
            "backend dask: distributed is not installed, pip install 'evalstop[dask]'"
        ) from None
    # Dask waits for, and shows the traceback of, a client that it could not even make.
    if not re.fullmatch(r"((tcp|tls|ucxx?|wss?)://)?[^/]+:\d+", address):
        raise UserError(f"--scheduler-address: must be like tcp://host:8786, got {address!r}")
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{address}: there is no dask scheduler, {told}; start one") from None
    from evalstop.studies.cluster_backend import ClusterBackend

    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise UserError(
                f"{address}: its scheduler has no worker, start some: dask worker {address}"
            ) from None
        _check_versions(address, client)
        with parallel_config(backend=ClusterBackend(client=client)):
            yield sum(client.ncores().values())


def _check_versions(address: str, client: "Client") -> None:
    """Raise if some worker would compute something else."""
    try:
        versions = client.run(_version)
    except ImportError:
        raise UserError(f"{address}: its workers lack evalstop, install it there") from None
    for worker, version in versions.items():
        if version != __version__:
            raise UserError(
                f"{address}: worker {worker} has evalstop {version}, here it is {__version__}; "
                "install the same on all"
            )


def _version() -> str:
    """Give the version on a worker."""
    return __version__
