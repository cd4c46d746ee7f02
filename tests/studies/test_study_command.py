"""``evalstop study``: what is printed and written, errors in one line, Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalstop.cli import main
from evalstop.studies.find import find

MINE = """
question = "Does it run?"
worlds = ["paper"]
detectors = ["k-decline", "drawdown @ matched:fpr=0.1"]
thresholds = ["natural"]
scores = ["saved"]
runs = 200
seeds = 20
axes.sigma = [0.02, 0.05, 0.1]
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(MINE)
    return tmp_path


def test_a_study_of_ones_own(mine, capsys):
    assert main(["study", "--no-track", "mine.toml", "--smoke", "--jobs", "1", "--seed", "5"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.startswith("mine: Does it run?\n")
    assert "k-decline @ natural" in told.out
    assert "0.02" in told.out
    assert "0.05" not in told.out  # a first look takes the ends of an axis
    assert "seed 5, 10 repetitions" in told.out
    out = mine / "evalstop-out" / "mine"
    assert len(list((out / "cells").iterdir())) == 2 * 2 * 10
    first = {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}
    assert {"results.csv", "results.parquet", "study.json", "saved.svg", "table-1.csv"} <= set(
        first
    )
    page = first["report.html"].decode()
    assert "<h1>Does it run?</h1>" in page
    assert page.count("<svg") == len(list(out.glob("*.svg")))
    assert all(cell in page for cell in ("k-decline @ natural", "sigma =", "seed 5"))
    assert not re.search("(src|href)=.?http", page)  # it needs nothing but itself

    assert main(["study", "--no-track", "mine.toml", "--smoke", "--jobs", "1", "--seed", "5"]) == 0
    assert capsys.readouterr().out == told.out
    assert {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()} == first
    assert (
        main(["study", "--no-track", "mine.toml", "--jobs", "1", "--out", "there", "--seed", "6"])
        == 0
    )
    assert (mine / "there" / "results.csv").read_text().count("\n") == 1 + 3 * 2 * 20


def test_one_point(mine, capsys):
    assert main(["study", "--no-track", "mine.toml/2", "--jobs", "1"]) == 0
    told = capsys.readouterr().out
    assert "20 repetitions" in told
    table = (mine / "evalstop-out" / "mine" / "2" / "results.csv").read_text()
    assert table.count("\n") == 1 + 2 * 20
    assert ",0.1," in table.splitlines()[1]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nose"], "there is no study 'nose', did you mean 'noise'?"),
        (["zork"], "real-noise, calibration, FILE.toml\n"),
        (["noise/99"], "noise/99: there is no such point, they go from 0 to 6"),
        (["none.toml"], "none.toml: cannot be read"),
        (["mine.toml", "--jobs", "-1"], "jobs: must be at least 1"),
        (["mine.toml", "--seed", "-1"], "Invalid value for '--seed'"),
        (["mine.toml", "--seeed", "1"], "--seed"),
        ([], "NAME|FILE.toml"),
    ],
)
def test_errors_are_one_line(mine, args, says, capsys):
    assert main(["study", *args]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert says in told.err


def test_what_lies_in_the_working_directory_is_not_imported_by_workers(mine):
    (mine / "json.py").write_text("raise SystemExit('not the json that you look for')\n")
    evalstop = Path(sys.executable).with_name("evalstop")
    done = subprocess.run(
        [evalstop, "study", "mine.toml", "--jobs", "2", "--no-track"],
        capture_output=True,
        text=True,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_point_keeps_its_number_in_a_first_look():
    whole, look = find("noise/3"), find("noise/3", smoke=True)
    assert look.point == whole.point == 3
    assert look.study.axes == whole.study.axes
    assert look.study.seeds < whole.study.seeds


def test_ctrl_c_leaves_finished_work_and_says_so(mine):
    (mine / "mine.toml").write_text(MINE.replace("runs = 200", "runs = 4000"))
    command = [sys.executable, "-m", "evalstop", "study", "mine.toml", "--jobs", "2"]
    cells = mine / "evalstop-out" / "mine" / "cells"
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a test run in the background ignores Ctrl-C, and its children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 60
    while not (cells.is_dir() and len(list(cells.glob("*.json"))) >= 4):
        assert time.monotonic() < end
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert not out
    assert (
        err == "error: interrupted: finished work is saved, run the same command again to go on\n"
    )
    n_done = len(list(cells.glob("*.json")))
    assert 4 <= n_done < 120
    assert main(["study", "--no-track", "mine.toml/0", "--jobs", "1"]) == 0
