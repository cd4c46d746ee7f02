"""A dask cluster: the same table bit for bit, and a worker that is killed loses nothing."""

import os
import signal
import warnings
from dataclasses import dataclass

import pytest
from toy_cells import Failing, cells

from evalstop.cli import main
from evalstop.errors import UserError
from evalstop.studies.backends import workers
from evalstop.studies.cell import Cell
from evalstop.studies.runner import run
from evalstop.studies.store import Store

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def cluster():
    """Start two worker processes on loopback."""
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as started,
    ):
        yield started


STUDY = """
name = "small"
worlds = ["paper"]
detectors = ["k-decline", "drawdown"]
seeds = 2
runs = 100
[axes]
sigma = [0.03, 0.06]
"""


def test_study_and_tune_give_the_same_on_a_cluster(tmp_path, cluster):
    study = tmp_path / "small.toml"
    study.write_text(STUDY)
    tune = ["tune", "--detector", "ewma-drawdown", "--world", "paper", "--no-track"]
    tune += ["--trials", "10", "--runs", "100"]
    there = ["--backend", "dask", "--scheduler-address", cluster.scheduler_address]
    for name, where in (("here", ["--jobs", "1"]), ("there", there)):
        out = tmp_path / name
        assert main(["study", str(study), "--no-track", "--out", str(out), *where]) == 0
        assert main([*tune, "--out", str(out / "tune"), *where]) == 0
    for table in ("results.parquet", "tune/results.parquet"):
        one, other = ((tmp_path / name / table).read_bytes() for name in ("here", "there"))
        assert one == other


def test_a_killed_worker_loses_nothing(tmp_path, cluster):
    wanted = run(cells(), Store(tmp_path / "here"))
    killed = []

    def kill(done, total):
        if done >= 3 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    with workers("dask", cluster.scheduler_address) as n_workers:
        assert n_workers == 2
        found = run(cells(seconds=0.02), Store(tmp_path), jobs=n_workers, advance=kill)
    assert killed
    assert [n["quantile"] for n in found] == [n["quantile"] for n in wanted]
    assert len(list(tmp_path.glob("*.json"))) == len(cells())


def test_a_cell_that_fails_there_is_one_clear_error(tmp_path, cluster):
    bad = Cell(cells()[0].workload, Failing(), 0, 99)
    with (
        workers("dask", cluster.scheduler_address) as n_workers,
        pytest.raises(UserError, match=r"^Failing.*no quantile"),
    ):
        run([bad], Store(tmp_path), jobs=n_workers)


@dataclass(frozen=True)
class Deadly:
    def measure(self, made):
        os._exit(1)


def test_a_task_that_kills_every_worker_is_one_clear_error(tmp_path, cluster):
    cluster.scheduler.allowed_failures = 0
    task = [*cells(), Cell(cells()[0].workload, Deadly(), 0, 99)]
    with (
        workers("dask", cluster.scheduler_address) as n_workers,
        pytest.raises(UserError, match="dask workers were lost with one task"),
    ):
        run(task, Store(tmp_path), jobs=n_workers)
    cluster.scheduler.allowed_failures = 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("dask", None), "belong together"),
        (("local", "tcp://127.0.0.1:1"), "belong together"),
        (("slurm", None), "must be one of local, dask"),
        (("local", None, -1), "jobs: must be at least 1"),
        (("dask", "127.0.0.1:1"), "there is no dask scheduler"),
        (("dask", "nonsense://x:1"), "must be like tcp://host:8786, got 'nonsense://x:1'"),
        (("dask", "tcp://x"), "must be like tcp://host:8786"),
        (("dask", ""), "must be like tcp://host:8786"),
    ],
)
def test_wrong_options_are_one_line(monkeypatch, options, told):
    monkeypatch.setattr("evalstop.studies.backends.PATIENCE", 0.5)
    with pytest.raises(UserError, match=told), workers(*options):
        pass
