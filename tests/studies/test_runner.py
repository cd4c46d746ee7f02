"""The runner: the same numbers for any number of workers, in any order, after any interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from toy_cells import Failing, cells

from evalstop.errors import UserError
from evalstop.studies.cell import Cell
from evalstop.studies.runner import run
from evalstop.studies.store import Store

TOY = Path(__file__).with_name("toy_cells.py")
N_CELLS = len(cells())


def start(folder, jobs=2):
    """Start the toy study as a program of its own process group."""
    return subprocess.Popen(
        [sys.executable, TOY, folder, str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)


def n_files(folder):
    return len(list(folder.glob("*.json")))


def kill(process):
    """Kill the parent; its workers may still hold the pipes, so these are not read to their end."""
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def workers_of(process):
    """Give the ids of the worker processes."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [c for c in children if b"popen_loky" in Path(f"/proc/{c}/cmdline").read_bytes()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Give the numbers of an uninterrupted run of the toy program."""
    told = start(tmp_path_factory.mktemp("whole"), jobs=1).communicate()
    assert not told[1]
    return json.loads(told[0])


def test_the_same_for_any_number_of_workers_in_any_order(tmp_path, whole):
    order = np.random.default_rng(0).permutation(N_CELLS)
    for jobs in (1, 4):
        numbers = run([cells()[i] for i in order], Store(tmp_path / str(jobs)), jobs=jobs)
        assert [n["quantile"] for n in numbers] == [whole[i] for i in order]


def test_what_is_there_is_not_computed_again(tmp_path):
    store, told = Store(tmp_path), []

    def advance(done, total):
        told.append((done, total))

    half = cells()[::2]
    run(half, store)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    store.path(half[3]).write_text("torn")
    numbers = run([*cells(), *cells()], store, advance=advance)
    assert str(numbers[:N_CELLS]) == str(numbers[N_CELLS:])
    assert told[0] == (len(half) - 1, N_CELLS)
    assert told[-1] == (N_CELLS, N_CELLS)
    after = {path: path.stat().st_mtime_ns for path in before}
    assert {p for p in before if before[p] != after[p]} == {store.path(half[3])}


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments_loses_nothing(tmp_path, whole, kills):
    rng = np.random.default_rng()
    for enough in sorted(rng.integers(1, N_CELLS, kills)):
        process = start(tmp_path)
        wait_for(lambda: n_files(tmp_path) >= enough)  # noqa: B023 - used at once
        time.sleep(rng.uniform(0, 0.03))
        kill(process)
    assert json.loads(start(tmp_path).communicate()[0]) == whole


def test_workers_end_with_a_parent_that_was_killed(tmp_path):
    process = start(tmp_path)
    wait_for(lambda: n_files(tmp_path) >= 3)
    workers = workers_of(process)
    assert len(workers) == 2
    kill(process)
    wait_for(lambda: not any(Path(f"/proc/{w}").exists() for w in workers), seconds=15)


def test_a_killed_worker_is_one_clear_error_and_loses_nothing(tmp_path, whole):
    process = start(tmp_path)
    wait_for(lambda: n_files(tmp_path) >= 3)
    os.kill(int(workers_of(process)[0]), signal.SIGKILL)
    told = process.communicate()
    assert process.returncode == 1
    assert "UserError: a worker was killed" in told[1]
    assert 3 <= n_files(tmp_path) < N_CELLS
    assert json.loads(start(tmp_path).communicate()[0]) == whole


def test_a_cell_that_fails_stops_the_work_and_keeps_what_is_done(tmp_path):
    bad = Cell(cells()[0].workload, Failing(), 0, 99)
    for jobs in (1, 2):
        with pytest.raises(UserError, match=r"Failing.*Sample.*no quantile"):
            run([*cells(), bad], Store(tmp_path / str(jobs)), jobs=jobs)
    assert n_files(tmp_path / "1") == N_CELLS


def test_jobs_must_be_some():
    with pytest.raises(UserError, match="jobs: must be at least 1"):
        run(cells(), Store("unused"), jobs=0)
