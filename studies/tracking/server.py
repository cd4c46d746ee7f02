"""MLflow's own pages, on this machine only, on the store that studies are tracked to."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, NamedTuple

from evalstop.errors import UserError
from evalstop.studies.tracking.send import NOTE, RESULTS
from evalstop.studies.tracking.store import (
    artifact_folder,
    check_store,
    hide_passwords,
    shown,
    sqlite_file,
)
from evalstop.studies.tracking.views import CHARTS

HOST = "127.0.0.1"
LONGEST_START = 180.0  # seconds; it takes 10 to 30
# No telemetry, and none of the services that MLflow offers to programs.
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


class Shown(NamedTuple):
    """A tracked study: its name, what it asks, and the address of its charts."""

    name: str
    question: str
    link: str


def check(uri: str, port: int) -> int:
    """Refuse what cannot be served; give the port, for 0 a free one.

    Raises
    ------
    UserError
        If there is no such store, it is of a newer MLflow, or the port is taken.
    """
    file = sqlite_file(uri)
    if file is not None and not file.is_file():
        raise UserError(
            f"{shown(uri)}: there is no such store yet, track something first: "
            "evalstop study noise --smoke"
        )
    check_store(uri)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(
                f"port {port}: cannot be used ({reason}), take another with --port (0 = any)"
            ) from error
        return int(probe.getsockname()[1])


@contextmanager
def serving(uri: str, port: int) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Serve a store on loopback while the block lasts; give the address and the process.

    Parameters
    ----------
    uri : str
        Store: a file or a database.
    port : int
        A free one, see `check`.

    Raises
    ------
    UserError
        If the server does not start.
    """
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            _command(uri, port),
            env=os.environ | QUIET,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that it can be ended as a whole
        )
        try:
            address = f"http://{HOST}:{port}"
            _wait(address, process, log)
            yield address, process
        finally:
            _end(process)


def tracked(address: str) -> list[Shown]:
    """Ask a server for the studies that it has, the last one first.

    Raises
    ------
    UserError
        If it does not answer.
    """
    try:
        told = _ask(
            f"{address}/api/2.0/mlflow/experiments/search",
            {"max_results": 100, "order_by": ["last_update_time DESC"]},
        )
    except (OSError, ValueError, HTTPException) as error:
        raise UserError(f"{hide_passwords(address)}: MLflow does not answer ({error})") from error
    studies = []
    for experiment in told.get("experiments", []):
        tags = {tag["key"]: tag["value"] for tag in experiment.get("tags", [])}
        if RESULTS in tags:
            question = tags.get(NOTE, "").partition("\n")[0]
            link = address + CHARTS.format(experiment["experiment_id"])
            studies.append(Shown(experiment["name"], question, link))
    return studies


def _command(uri: str, port: int) -> list[str]:
    files = artifact_folder(uri) or Path("mlflow-artifacts").resolve()
    return [
        *(sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port)),
        *("--workers", "1", "--backend-store-uri", uri, "--artifacts-destination", files.as_uri()),
    ]


def _wait(address: str, process: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
    """Wait until the server answers."""
    end = time.monotonic() + LONGEST_START
    while time.monotonic() < end:
        if process.poll() is not None:
            raise UserError(f"MLflow did not start: {_last_words(log)}")
        try:
            with _open(f"{address}/health"):
                return
        except OSError:
            time.sleep(0.1)
    raise UserError(f"MLflow did not start within {LONGEST_START:.0f} s: {_last_words(log)}")


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    words = hide_passwords(next((line for line in reversed(lines) if line), "it said nothing"))
    if "out-of-date database schema" in words:
        return "the store is of another MLflow, run `mlflow db upgrade URI` or install that version"
    return words[:300]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the server and its workers."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(10)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            process.wait()
            return


def _open(url: str, data: bytes | None = None) -> Any:  # noqa: ANN401 - a response
    # No proxy stands between us and this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    return opener.open(request, timeout=10)


def _ask(url: str, question: dict[str, Any]) -> dict[str, Any]:
    with _open(url, json.dumps(question).encode()) as response:
        answer: dict[str, Any] = json.load(response)
        return answer
