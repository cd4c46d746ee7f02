"""``evalstop simulate --stop``: what it prints, writes and refuses."""

import csv
import json
import re
from pathlib import Path

import pytest

from evalstop.cli import main

MICRO = Path(__file__).parents[1] / "data" / "simulator" / "micro8.csv"
PAPER = ["--preset", "paper:jobs=120,load=1.2"]
TRACE = ["--trace", MICRO, "--gpus", 4, "--world", "paper", "--rlhf-share", 1]


@pytest.fixture
def run(capsys):
    """Run the command; give its status, its output and its lines on stderr."""

    def call(*args):
        status = main(["simulate", *(str(a) for a in args)])
        told = capsys.readouterr()
        return status, told.out, told.err.splitlines()

    return call


@pytest.fixture
def told(run):
    """Run the command and read its JSON."""

    def call(*args):
        status, out, _ = run(*args, "--json")
        assert status == 0
        return json.loads(out)

    return call


def test_what_a_rule_was_worth_is_printed(run):
    status, out, _ = run(*PAPER, "--stop", "k-decline:k=2", "--wrong-stop-cost", 10)
    assert status == 0
    for words in (
        "stops by k-decline:k=2",
        "precision, recall",
        "jobs stopped, wrongly",
        "wasted after the true peak",
        "cost in GPU-hours, 10 for a wrong stop",
        "saved against no rule",
        "rho mean",
        "conservation",
    ):
        assert words in out
    _, out, _ = run(*PAPER)
    assert "precision" not in out


def test_the_same_jobs_are_run_without_the_rule(told):
    alone = told(*PAPER, "--seed", 4)
    ruled = told(*PAPER, "--seed", 4, "--stop", "k-decline:k=2")
    assert "stop" not in alone
    worth = ruled["stop"]
    assert worth["rule"] == "k-decline:k=2"
    assert worth["gain"]["jct"] == pytest.approx(1 - ruled["jct_mean"] / alone["jct_mean"])
    assert worth["gain"]["jct"] > 0
    assert worth["gain"]["waste"] > 0.1
    assert worth["cost_gpu_hours"] == pytest.approx(
        worth["waste_gpu_hours"] + worth["overhead_gpu_hours"]
    )
    dear = told(*PAPER, "--seed", 4, "--stop", "stop-at", "--wrong-stop-cost", 7)["stop"]
    spent = dear["waste_gpu_hours"] + dear["overhead_gpu_hours"] + 7 * dear["wrongly_stopped"]
    assert dear["cost_gpu_hours"] == pytest.approx(spent)


@pytest.mark.parametrize(
    "stop", ["stop-at:progress=.65", "fixed-progress", "loss-plateau", "oracle"]
)
def test_other_rules(stop, told):
    worth = told(*PAPER, "--stop", stop)["stop"]
    assert worth["stopped"] > 0
    assert (stop == "oracle") == (worth["wrongly_stopped"] == 0)


def test_the_regret_of_going_back_k_evals_is_told_where_a_rule_has_a_k(told):
    scores = told(*PAPER, "--stop", "k-decline:k=2")["stop"]["scores"]
    assert 0 < scores["regret_k_back"] < 1
    assert told(*PAPER, "--stop", "patience")["stop"]["scores"]["regret_k_back"] is None


def test_jobs_csv_says_how_each_job_left(run, tmp_path):
    out = tmp_path / "jobs.csv"
    status, _, _ = run(*PAPER, "--stop", "k-decline:k=2", "--out", out)
    assert status == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = {(r["outcome"], r["alarm_at_last"]) for r in rows}
    assert kinds == {("stopped", "false"), ("finished", "false"), ("finished", "true")}


def test_reactions(told):
    at_once = told(*PAPER, "--stop", "k-decline:k=2")["stop"]
    late = told(*PAPER, "--stop", "k-decline:k=2", "--reaction-delay", 3600)["stop"]
    assert late["stopped"] < at_once["stopped"]
    demoted = told(*PAPER, "--stop", "k-decline:k=2", "--on-alarm", "deprioritise")["stop"]
    assert (demoted["demoted"], demoted["stopped"]) == (at_once["stopped"], 0)
    never = told(*PAPER, "--stop", "stop-at")["stop"]
    again = told(*PAPER, "--stop", "stop-at", "--resubmit", "restart")["stop"]
    assert again["resubmitted"] == again["wrongly_stopped"] == never["wrongly_stopped"] > 0
    assert again["gain"]["gpu_time"] < 0 < never["gain"]["gpu_time"]
    every = told(*PAPER, "--stop", "always", "--stop-types", "all")["stop"]
    assert every["stopped"] == 120


def test_a_threshold_from_healthy_runs(run, told):
    status, _, err = run(*PAPER, "--stop", "drawdown", "--fpr", 0.02)
    assert status == 0
    assert [line for line in err if line.startswith("note: threshold") and "2.00%" in line]
    strict = told(*PAPER, "--stop", "drawdown", "--threshold", 0.5)["stop"]
    loose = told(*PAPER, "--stop", "drawdown", "--threshold", 0.01)["stop"]
    assert strict["stopped"] < loose["stopped"]


def test_runs_of_a_world_over_a_trace(told):
    worth = told(*TRACE, "--stop", "always")["stop"]
    assert worth["stopped"] == 8
    other = told(*TRACE, "--stop", "always", "--scheduler", "pollux")
    assert other["scheduler"] == "pollux"
    alone = told("--trace", MICRO, "--gpus", 4)
    assert told(*TRACE)["jct_mean"] == alone["jct_mean"]


def test_a_preset_brings_its_cluster(told):
    assert told(*PAPER)["gpus"] == 64
    assert told(*PAPER, "--gpus", 128)["gpus"] == 128
    paid = told(*PAPER)["overhead_gpu_hours"]
    assert paid > 0
    assert told(*PAPER, "--preemption-overhead", 0)["overhead_gpu_hours"] == 0
    easy = told(*PAPER, "--world", "cliff", "--stop", "k-decline:k=1")["stop"]
    assert easy["scores"]["recall"] == 1
    none = told(*PAPER, "--rlhf-share", 0, "--stop", "always")["stop"]
    assert none["stopped"] == 0


def test_tenants_are_told_apart(run, told, tmp_path):
    trace = tmp_path / "jobs.csv"
    rows = [f"{i},{i},1,100,{'red' if i % 2 else 'blue'}" for i in range(6)]
    trace.write_text("\n".join(["job_id,submit_time,gpus,duration,tenant", *rows]))
    found = told("--trace", trace, "--gpus", 1, "--scheduler", "fifo")["tenants"]
    assert {name: t["jobs"] for name, t in found.items()} == {"red": 3, "blue": 3}
    assert found["blue"]["rho_mean"] < found["red"]["rho_mean"]
    _, out, _ = run("--trace", trace, "--gpus", 1)
    assert "tenants" in out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "give --trace FILE or --preset NAME"),
        ([*PAPER, "--trace", "jobs.csv"], "leave --trace and --scale-gpus out"),
        ([*PAPER, "--scale-gpus", "1/2"], "leave --trace and --scale-gpus out"),
        (["--preset", "papre"], "did you mean 'paper'"),
        (["--trace", MICRO, "--stop", "k-decline"], "give --world paper"),
        (["--trace", MICRO, "--stop", "zork"], "there is no detector 'zork'"),
        ([*TRACE, "--estimate-error", "1e6"], "Invalid value for '--estimate-error'"),
        (["--trace", MICRO, "--rlhf-share", ".5"], "give --world too"),
        (["--trace", MICRO, "--world", "paper"], "give --rlhf-share"),
        ([*PAPER, "--stop", "drawdown"], "give --threshold or --fpr"),
        ([*PAPER, "--stop", "drawdown", "--threshold", "1", "--fpr", ".1"], "give one of the two"),
        ([*PAPER, "--stop", "oracle", "--threshold", "1"], "it has no threshold"),
        ([*PAPER, "--stop", "k-declin"], "did you mean 'k-decline'"),
        ([*PAPER, "--stop", "k-decline", "--stop-types", "RHLF"], "did you mean 'RLHF'"),
        ([*PAPER, "--stop", "k-decline", "--on-alarm", "cry"], "on_alarm must be one of"),
        ([*PAPER, "--stop", "k-decline", "--resubmit", "later"], "resubmit must be one of"),
    ],
)
def test_errors_are_one_line(args, says, run):
    status, out, err = run(*args)
    assert status == 2
    assert out == ""
    assert len(err) == 1
    assert err[0].startswith("error: ")
    assert says in err[0]


def test_a_demotion_that_does_nothing_is_warned_about(run):
    asked = [*PAPER, "--stop", "k-decline", "--on-alarm", "deprioritise"]
    _, _, err = run(*asked, "--scheduler", "fifo-skip")
    assert [line for line in err if "to deprioritise it does nothing" in line]
    _, _, err = run(*asked, "--scheduler", "srtf-est")
    assert not [line for line in err if "deprioritise" in line]


def test_the_page_on_stops_runs_and_names_every_option(run, capsys):
    page = (Path(__file__).parents[2] / "docs" / "evalstop-on-the-cluster.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out == example.splitlines()[-1].removeprefix("# ") + "\n"
    _, told, _ = run("--help")
    for option in re.findall(r"`(--[a-z-]+)", page):
        assert option in told


def test_a_real_trace(told, shared):
    trace = shared / "data" / "cluster" / "philly_mix_480.csv"
    asked = ["--trace", trace, "--world", "paper", "--rlhf-share", 0.8, "--gpus", 32]
    worth = told(*asked, "--stop", "k-decline:k=2")["stop"]
    assert worth["scores"]["precision"] > 0.9
    assert worth["scores"]["recall"] > 0.95
    assert 0.1 < worth["gain"]["waste"] < 0.35
    assert worth["gain"]["jct"] > 0
