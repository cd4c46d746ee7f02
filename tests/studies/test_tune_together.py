"""The command killed with -9 in the midst, and several of them at work on one database."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest

from evalstop.studies.tuning.storage import open_storage

COMMAND = [sys.executable, "-m", "evalstop", "tune", "--detector", "ewma-drawdown", "--no-track"]
SMALL = ["--world", "paper", "--world", "cliff", "--world", "triangle", "--runs", "300"]
# Versions of Debian's package keep their programs apart.
BINARIES = [Path("/usr/local/bin"), Path("/usr/bin"), *Path("/usr/lib/postgresql").glob("*/bin")]


def start(*arguments):
    return subprocess.Popen(
        [*COMMAND, *SMALL, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process):
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said


def results(out):
    return (out / "results.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("url", [None, "sqlite:///{}/trials.db"])
def test_twenty_kills_of_the_command_change_nothing(tmp_path, url):
    options = ["--trials", 40, "--jobs", 2]
    finish(start(*options, "--out", tmp_path / "whole"))
    out = tmp_path / "killed"
    storage = [] if url is None else ["--storage", url.format(tmp_path)]
    rng, kills = np.random.default_rng(0), 0
    while kills < 20:
        process = start(*options, *storage, "--out", out)
        time.sleep(rng.uniform(1.5, 4))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        kills += 1
    finish(start(*options, *storage, "--out", out))
    assert results(out) == results(tmp_path / "whole")


@pytest.fixture(scope="module")
def postgresql():
    """Start a server on loopback, with its data in a folder of its own; give its URL."""
    found = next((b for b in BINARIES if (b / "initdb").is_file()), None)
    if found is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    if not find_spec("psycopg"):
        pytest.skip("psycopg is not installed: the extra postgresql")
    user = None
    if os.geteuid() == 0:  # the server refuses to be run by root
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
    folder = Path(tempfile.mkdtemp(prefix="evalstop-pg-"))
    if user:
        shutil.chown(folder, user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"

    def run(program, *arguments):
        subprocess.run(
            [found / program, *map(str, arguments)],
            check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    run("initdb", "-D", data, "-U", "evalstop", "-A", "trust", "--no-sync")
    server = f"-p {port} -h 127.0.0.1 -k {folder} -F"
    run("pg_ctl", "-D", data, "-l", folder / "log", "-o", server, "-w", "start")
    yield f"postgresql://evalstop@127.0.0.1:{port}/postgres"
    run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    shutil.rmtree(folder)


@pytest.mark.slow
def test_several_workers_on_one_database(tmp_path, postgresql):
    """They begin on a fresh database at the same moment, and one of them is killed."""
    options = ["--trials", 60, "--jobs", 1, "--storage", postgresql]
    workers = [start(*options, "--out", tmp_path / str(i)) for i in range(4)]
    time.sleep(8)
    os.killpg(workers[0].pid, signal.SIGKILL)
    for worker in workers[1:]:
        finish(worker)
    workers[0].communicate()
    tables = [pd.read_parquet(tmp_path / str(i) / "results.parquet") for i in (1, 2, 3)]
    for table in tables:
        assert len(table) >= 60
        assert table["value_0"].notna().all()
    assert tables[0]["weight"].nunique() > 40
    with open_storage(postgresql) as storage:
        (name,) = optuna.get_all_study_names(storage)
        trials = optuna.load_study(study_name=name, storage=storage).trials
    of = {t.user_attrs["worker"] for t in trials if "worker" in t.user_attrs}
    assert len(of) >= 3
    assert not [t for t in trials if t.state == optuna.trial.TrialState.RUNNING]


@pytest.mark.slow
def test_one_worker_on_a_database_has_the_trials_of_a_journal(tmp_path, postgresql):
    options = ["--trials", 20, "--seed", 1]
    finish(start(*options, "--out", tmp_path / "journal"))
    finish(start(*options, "--out", tmp_path / "database", "--storage", postgresql))
    assert results(tmp_path / "journal") == results(tmp_path / "database")
