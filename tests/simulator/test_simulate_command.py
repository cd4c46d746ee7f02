"""``evalstop simulate`` and ``evalstop schedulers``: what they print, write and refuse."""

import csv
import json
from pathlib import Path

import pytest

from evalstop.cli import main

DATA = Path(__file__).parents[1] / "data" / "simulator"
MICRO = ["--trace", DATA / "micro8.csv", "--gpus", 4]
SCHEDULERS = (
    "fifo",
    "fifo-skip",
    "sjf-est",
    "sjf-est-skip",
    "srtf-est",
    "srtf-est:overrun=reestimate",
    "loss-aware",
    "loss-aware:rate=given",
    "las",
    "tiresias",
    "tiresias:rank=gittins",
    "srtf",
    "srsf",
    "sjf-skip",
    "sjf-gpus",
)


@pytest.fixture
def run(capsys):
    """Run the command; give its status, its output and its lines on stderr."""

    def call(*args):
        status = main([str(a) for a in args])
        told = capsys.readouterr()
        return status, told.out, told.err.splitlines()

    return call


def test_jobs_csv_has_the_columns_of_the_contract(run, tmp_path):
    out = tmp_path / "jobs.csv"
    status, _, _ = run(
        "simulate", *MICRO, "--scheduler", "srtf", "--preemption-overhead", 0, "--out", out
    )
    assert status == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert ",".join(rows[0]) == (
        "job_id,submit_time,start_time,end_time,jct,gpus,preemptions,outcome,alarm_at_last"
    )
    with (DATA / "micro8.csv").open(newline="") as file:
        golden = {r["job_id"]: r["srtf"] for r in csv.DictReader(file)}
    assert {r["job_id"]: r["end_time"] for r in rows} == golden
    assert {r["outcome"] for r in rows} == {"finished"}


def test_numbers_are_printed_and_given_as_json(run):
    status, out, _ = run("simulate", *MICRO, "--scheduler", "fifo")
    assert status == 0
    for words in ("JCT mean", "wait", "makespan", "utilisation", "preemptions", "conservation"):
        assert words in out
    _, out, _ = run("simulate", *MICRO, "--scheduler", "fifo", "--json", "--seed", 3)
    told = json.loads(out)
    assert told["jct_mean"] == 261
    assert told["conserved"] is True
    assert told["seed"] == 3


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_scheduler_runs_from_the_command_line(scheduler, run):
    status, out, _ = run("simulate", *MICRO, "--scheduler", scheduler, "--json")
    assert status == 0
    assert json.loads(out)["scheduler"].startswith(scheduler.partition(":")[0])


def test_settings_one_by_one(run):
    args = ["simulate", "--trace", DATA / "synth300.csv", "--scheduler", "las"]
    more = ["--set", "unit=seconds", "--set", "thresholds=50,90", "--set", "requeue=fifo"]
    _, first, _ = run(*args, *more, "--json")
    _, second, _ = run(*args[:-1], "las:thresholds=50,90,requeue=fifo", "--json")
    assert json.loads(first) == json.loads(second)
    assert json.loads(first)["scheduler"] == "las:thresholds=50.0,90.0,requeue=fifo"


def test_a_policy_of_ones_own(run, tmp_path):
    (tmp_path / "lifo.py").write_text(
        "from evalstop.simulator import Policy\n"
        "class Lifo(Policy):\n"
        "    'Latest first, non-preemptive, skips.'\n"
        "    name = 'lifo'\n"
        "    def key(self, job, now):\n"
        "        return -job.submit\n"
    )
    status, out, _ = run("simulate", *MICRO, "--scheduler", f"{tmp_path}/lifo.py:Lifo", "--json")
    assert status == 0
    assert json.loads(out)["jobs"] == 8


def test_loads_that_say_little_are_warned_about(run):
    _, _, err = run("simulate", "--trace", DATA / "synth300.csv", "--gpus", 640)
    assert [line for line in err if line.startswith("warning: offered load") and "below" in line]
    _, _, err = run("simulate", "--trace", DATA / "synth300.csv", "--gpus", 32)
    assert [line for line in err if line.startswith("warning: offered load") and "above" in line]


def test_jobs_that_all_come_at_once_are_told_in_words(run, tmp_path):
    (tmp_path / "t.csv").write_text("job_id,submit_time,gpus,duration\na,5,1,10\nb,5,1,10\n")
    status, out, err = run("simulate", "--trace", tmp_path / "t.csv", "--gpus", 1)
    assert status == 0
    assert "on 1 GPU, 2 jobs" in out
    assert "all jobs arrive at once" in out
    assert len([line for line in err if line.startswith("warning: all jobs arrive at once")]) == 1
    assert "inf" not in f"{out}{err}"


def test_plots_are_drawn_beside_the_table(run, tmp_path):
    status, _, err = run("simulate", *MICRO, "--out", tmp_path / "jobs.csv", "--plot")
    assert status == 0
    assert (tmp_path / "jobs.svg").read_text().startswith("<?xml")
    assert f"note: the figure is {tmp_path / 'jobs.svg'}" in err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--scheduler", "fofi"], "did you mean 'fifo'"),
        (["--set", "floor"], "--set floor: say NAME=VALUE"),
        (["--set", "floor=2"], "floor must be at most 1"),
        (["--scale-gpus", "x"], "--scale-gpus x: write a fraction"),
        (["--scale-gpus", "-1"], "--scale-gpus: it must be positive"),
        (["--preemption-overhead", "nan"], "--preemption-overhead"),
        (["--gpus", "3"], "--scale-gpus 1/2"),
        (["--trace", "nowhere.csv"], "nowhere.csv: it cannot be read"),
        (["--scheduler", "nowhere.py:Mine"], "there is no file nowhere.py"),
    ],
)
def test_errors_are_one_line(args, says, run):
    status, out, err = run("simulate", *MICRO, *args)
    assert status == 2
    assert out == ""
    assert len(err) == 1
    assert err[0].startswith("error: ")
    assert says in err[0]


def test_schedulers_are_listed_with_their_settings(run):
    status, out, _ = run("schedulers", "--json")
    assert status == 0
    members = {m["name"]: m for m in json.loads(out)}
    assert {s.partition(":")[0] for s in SCHEDULERS} <= set(members)
    assert members["tiresias"]["settings"]["rank"]["choices"] == ["fifo", "gittins"]
    assert "oracle" in members["srtf"]["description"].lower()
    _, out, _ = run("schedulers")
    assert "thresholds=3250.0,7200.0" in out
