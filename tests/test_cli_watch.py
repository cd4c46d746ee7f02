"""`evalstop watch`: verdicts, exit status, budgets, and logs that are still being written."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from evalstop.cli import main
from evalstop.detectors import DETECTORS, false_alarm_probability, k_for
from evalstop.detectors.calibration import exact, save
from evalstop.detectors.stop_rules import DEFAULT

DOCS = Path(__file__).parents[1] / "docs"
DECLINED = [0.4, 0.6, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45]
HEALTHY = [0.4, 0.6, 0.7, 0.69, 0.72, 0.71, 0.73, 0.74]


def write_log(path, scores, metric="eval_accuracy", steps=None):
    steps = steps or [100 * (i + 1) for i in range(len(scores))]
    rows = [json.dumps({"step": s, metric: v}) for s, v in zip(steps, scores, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return path


def watch(capsys, *args):
    status = main(["watch", *map(str, args)])
    told = capsys.readouterr()
    return status, told.out, told.err


def verdicts(capsys, *args):
    status, out, err = watch(capsys, *args, "--json")
    return status, {v["run"]: v for v in json.loads(out)}, err


def test_a_declined_run_should_stop_and_a_healthy_one_go_on(tmp_path, capsys):
    bad = write_log(tmp_path / "bad.jsonl", DECLINED)
    good = write_log(tmp_path / "good.jsonl", HEALTHY)
    assert watch(capsys, good)[0] == 0
    assert watch(capsys, bad)[0] == 10
    status, told, _ = verdicts(capsys, tmp_path)
    assert status == 10
    stopped = told["bad"]
    assert (stopped["stop"], stopped["alarm_step"]) == (True, 700)
    assert (stopped["best_step"], stopped["best_score"]) == (300, 0.7)
    assert stopped["n_evals"] == 8
    assert not told["good"]["stop"]
    _, table, _ = watch(capsys, tmp_path)
    assert "stop, since step 700" in table
    assert "4.5% false stops within 8 evals (exact" in table


def test_metrics_that_disagree_are_told(tmp_path, capsys):
    rows = [
        json.dumps({"step": i, "eval_accuracy": good, "eval_win_rate": bad})
        for i, (good, bad) in enumerate(zip(HEALTHY, DECLINED, strict=True))
    ]
    (tmp_path / "run.jsonl").write_text("\n".join(rows) + "\n")
    status, _, err = watch(capsys, tmp_path)
    assert status == 10
    assert (
        "warning: 1 run should stop by one metric and not by another (run: eval_win_rate, not "
        "eval_accuracy); name the one that you trust with --metric\n"
    ) in err
    status, _, err = watch(capsys, tmp_path, "--metric", "eval_accuracy")
    assert (status, "by one metric" in err) == (0, False)


def test_of_many_lengths_the_ends_are_promised(tmp_path, capsys):
    for n in (9, 6, 8, 7, 5):
        write_log(tmp_path / f"{n}.jsonl", [1 - i / 100 for i in range(n)])
    promises = [line for line in watch(capsys, tmp_path)[1].splitlines() if "mann-kendall" in line]
    assert promises == [
        f"mann-kendall: {exact(DEFAULT, 0.05, 5).promise}",
        "mann-kendall: the same for 3 lengths between, each with its own threshold",
        f"mann-kendall: {exact(DEFAULT, 0.05, 9).promise}",
    ]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 12, 25])
def test_by_default_the_threshold_is_for_the_budget_over_the_length_of_the_run(n, tmp_path, capsys):
    log = write_log(tmp_path / "run.jsonl", [1 - i / 100 for i in range(n)])
    status, told, _ = verdicts(capsys, log)
    due = exact(DEFAULT, 0.05, n)
    assert told["run"]["detector"] == "mann-kendall"
    assert told["run"]["fpr_realised"] == due.realised
    assert told["run"]["fpr_nominal"] == 0.05
    assert told["run"]["promise"] == due.promise
    # The orders of three evals are too few: one in six falls all the time.
    assert told["run"]["stop"] == (n > 3) == (status == 10)
    assert (told["run"]["threshold"] or np.inf) == due.threshold
    _, table, _ = watch(capsys, log)
    assert ("too few evals to tell" in table) == (n <= 3)
    assert "inf" not in table
    _, tighter, _ = verdicts(capsys, log, "--fpr", ".001", "--horizon", "60")
    assert tighter["run"]["threshold"] == exact(DEFAULT, 0.001, 60).threshold


def test_the_page_shows_what_it_prints(tmp_path, capsys):
    page = (DOCS / "watch-your-runs.md").read_text(encoding="utf-8")
    fell = [0.583, 0.641, 0.6667, 0.664, 0.655, 0.648, 0.641, 0.622]
    stays = [0.552, 0.611, 0.6465, 0.641, 0.644, 0.638, 0.643, 0.629]
    write_log(tmp_path / "dpo-01.jsonl", fell)
    write_log(tmp_path / "dpo-02.jsonl", stays, steps=[125 * i for i in range(1, 9)])
    _, out, _ = watch(capsys, tmp_path)
    shown = [line.rstrip() for line in out.splitlines() if line.strip()]
    assert "\n".join([*shown[:-1], "", shown[-1]]) in page
    fleet = (DOCS / "examples" / "curves.csv", "--metric", "eval_win_rate", "--fdr", ".1")
    _, out, _ = watch(capsys, *fleet)
    printed = [line for line in out.splitlines() if "chat-5" in line or line.startswith("mann")]
    assert sum(line.rstrip() in page for line in printed) == 3


@pytest.mark.parametrize("n", [3, 5, 8, 12, 25])
def test_the_budget_over_the_length_of_the_run_chooses_k(n, tmp_path, capsys):
    log = write_log(tmp_path / "run.jsonl", [1 - i / 100 for i in range(n)])
    status, told, _ = verdicts(capsys, log, "--detector", "k-decline", "--fpr", ".05")
    k = k_for(0.05, n)
    assert told["run"]["detector"] == f"k-decline:k={k}" if k != 2 else "k-decline"
    assert told["run"]["fpr_realised"] == float(false_alarm_probability(k, n)) <= 0.05
    assert told["run"]["stop"] == (k < n) == (status == 10)


def test_lower_is_better_where_the_log_or_the_user_says_so(tmp_path, capsys):
    write_log(tmp_path / "a.jsonl", [2.0, 1.5, 1.6, 1.7, 1.8, 1.9], "eval_loss")
    write_log(tmp_path / "b.jsonl", [2.0, 1.5, 1.6, 1.7, 1.8, 1.9], "eval_blah")
    status, told, err = verdicts(capsys, tmp_path)
    assert status == 10
    assert told["a"]["best_score"] == 1.5
    assert "b" not in told
    assert "warning: eval_blah: the log does not tell" in err
    status, told, _ = verdicts(capsys, tmp_path, "--direction", "eval_blah=lower")
    assert told["b"]["stop"]
    status, _, err = watch(capsys, tmp_path / "b.jsonl")
    assert status == 2
    assert "--direction eval_blah=higher" in err


def test_an_unreadable_path_is_told_and_outranked_by_a_stop(tmp_path, capsys):
    bad = write_log(tmp_path / "bad.jsonl", DECLINED)
    good = write_log(tmp_path / "good.jsonl", HEALTHY)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert watch(capsys, good, empty)[0] == 2
    status, _, err = watch(capsys, bad, empty)
    assert status == 10
    assert "error: " in err
    assert "empty" in err
    assert watch(capsys, tmp_path / "none.jsonl")[0] == 2


def test_every_metric_is_judged_unless_one_is_named(tmp_path, capsys):
    rows = [
        {"step": i, "eval_accuracy": a, "eval_f1": f}
        for i, (a, f) in enumerate(zip(DECLINED, HEALTHY, strict=True))
    ]
    log = tmp_path / "run.jsonl"
    log.write_text("".join(json.dumps(r) + "\n" for r in rows))
    status, out, _ = watch(capsys, log, "--json")
    assert status == 10
    assert {v["metric"]: v["stop"] for v in json.loads(out)} == {
        "eval_accuracy": True,
        "eval_f1": False,
    }
    assert watch(capsys, log, "--metric", "eval_f1")[0] == 0


def test_a_detector_with_its_own_threshold_says_what_that_promises(tmp_path, capsys):
    log = write_log(tmp_path / "run.jsonl", HEALTHY)
    _, told, _ = verdicts(capsys, log, "--detector", "k-decline:k=2")
    assert told["run"]["fpr_realised"] == float(false_alarm_probability(2, 8))
    status, told, _ = verdicts(capsys, log, "--detector", "drawdown", "--threshold", ".005")
    assert status == 10
    assert told["run"]["promise"] is None


def test_a_threshold_that_means_any_is_told_in_words(tmp_path, capsys):
    log = write_log(tmp_path / "run.jsonl", DECLINED)
    _, out, _ = watch(capsys, log, "--detector", "k-decline:form=tolerance")
    assert "0.05 / more than 0" in out


def test_an_eval_beyond_all_reason_is_missing_and_told(tmp_path, capsys):
    log = write_log(tmp_path / "run.jsonl", [0.4, 1e308, 0.5, -1e308, 0.6])
    status, told, err = verdicts(capsys, log, "--detector", "slope-glr", "--threshold", "9")
    assert status == 0
    assert (told["run"]["n_missing"], told["run"]["best_score"]) == (2, 0.6)
    assert "eval_accuracy is beyond 1e+100 at steps 200, 400: kept as missing" in err
    assert "overflow" not in err


def test_a_calibration_file_is_used_and_warns_beyond_its_horizon(tmp_path, capsys):
    log = write_log(tmp_path / "run.jsonl", DECLINED)
    file = tmp_path / "calibration.json"
    save(exact(DETECTORS.build("patience"), 0.3, 6), file)
    status, told, err = verdicts(capsys, log, "--calibration", file)
    assert told["run"]["detector"].startswith("patience")
    assert told["run"]["horizon"] == 6
    assert "warning: run / eval_accuracy: 8 evals, the threshold promises something for 6" in err
    assert status == 10
    for content in (b'{"format": 1}', b"\xff\x00", b"[]"):
        file.write_bytes(content)
        status, _, err = watch(capsys, log, "--calibration", file)
        assert status == 2
        assert err == f"error: {file}: is no calibration, or a damaged one: calibrate again\n"
    # A file that names a class is never run.
    evil = tmp_path / "evil.py"
    evil.write_text("raise SystemExit('was run')\nclass A: pass\n")
    record = json.loads(json.dumps({"format": 1}))
    save(exact(DETECTORS.build("patience"), 0.3, 6), file)
    record = {**json.loads(file.read_text()), "detector": f"{evil}:A"}
    file.write_text(json.dumps(record))
    status, _, err = watch(capsys, log, "--calibration", file)
    assert status == 2
    assert "only when named on the command line" in err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--threshold", "2"], "name the --detector"),
        (["--detector", "drawdown"], "give --threshold, or a false-alarm budget"),
        (["--detector", "drawdown", "--threshold", "1", "--fpr", ".1"], "give one of them"),
        (["--fpr", "1.5"], "fpr: must be between 0 and 1"),
        (["--horizon", "0"], "horizon: must be at least 1"),
        (["--detector", "k-declin"], "did you mean 'k-decline'"),
        (["--detector", "fixed-progress"], "log a progress column"),
        (["--detector", "loss-plateau"], "loss: the detector reads it"),
        (["--metric", "eval_acuracy"], "eval_acuracy"),
    ],
)
def test_bad_questions_get_one_line(options, says, tmp_path, capsys):
    log = write_log(tmp_path / "run.jsonl", DECLINED)
    status, _, err = watch(capsys, log, *options)
    assert status == 2
    assert says in err
    assert sum(line.startswith("error: ") for line in err.splitlines()) == 1


def test_evals_that_stay_nan_get_their_own_verdict(tmp_path, capsys):
    log = tmp_path / "run.jsonl"
    values = [0.5, 0.6, "NaN", "NaN"]
    log.write_text(
        "".join(f'{{"step": {i}, "eval_accuracy": {v}}}\n' for i, v in enumerate(values))
    )
    status, told, _ = verdicts(capsys, log)
    assert status == 0
    assert told["run"]["verdict"] == "no usable eval since step 2"


@pytest.mark.parametrize(
    ("options", "for_one_look"),
    [
        ((), True),
        (("--detector", "k-decline", "--fpr", ".1"), True),
        (("--horizon", "9"), False),
        (("--detector", "k-decline:k=2"), False),
        (("--fdr", ".1"), False),
    ],
)
def test_a_threshold_that_grows_with_the_run_is_said_to_be_for_one_look(
    tmp_path, capsys, options, for_one_look
):
    log = write_log(tmp_path / "run.jsonl", [0.4, 0.7, 0.6, 0.65])
    _, _, err = watch(capsys, log, *options)
    assert ("for one look" in err) == for_one_look


def hear_ctrl_c():
    """Undo what a test run in the background inherits: there Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Follow:
    """A `watch --follow` in a process of its own, told line by line."""

    def __init__(self, log, state, *options, cwd=None):
        command = [sys.executable, "-m", "evalstop", "watch", str(log), "--follow", "--json"]
        command += ["--every", ".1", *(["--state", str(state)] if state else []), *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            preexec_fn=hear_ctrl_c,
        )

    def next(self):
        return json.loads(self.process.stdout.readline())

    def end(self, how=None):
        """Wait for its end, or bring it about with a signal; give the exit status."""
        if how is not None:
            self.process.send_signal(how)
        self.process.communicate(timeout=60)
        return self.process.returncode


def append(log, text):
    with log.open("a") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


RULE = ("--detector", "k-decline:k=3")


def test_follow_waits_for_whole_lines_and_ends_when_the_run_should_stop(tmp_path):
    log = tmp_path / "run.csv"
    append(log, "step,eval_accuracy\n100,0.4\n200,0.7\n300,0.6\n400,0.5\n")
    follow = Follow(log, tmp_path / "state.json", *RULE)
    assert follow.next()["verdict"] == "go on"
    append(log, "500,0")  # torn: as it stands a third decline
    time.sleep(0.6)
    assert follow.process.poll() is None
    append(log, ".65\n600,0.6\n700,0.55\n800,0.5\n")
    last = follow.next()
    assert (last["stop"], last["alarm_step"], last["best_step"]) == (True, 800, 200)
    assert follow.end() == 10


def test_follow_survives_rotation_and_its_own_restart(tmp_path):
    log, state = tmp_path / "run.jsonl", tmp_path / "state.json"
    follow = Follow(log, state, *RULE)  # the log is not there yet
    write_log(log, [0.4, 0.7, 0.6])
    assert follow.next()["n_evals"] == 3
    assert follow.end(signal.SIGKILL) == -signal.SIGKILL
    write_log(log, [0.5], steps=[400])  # rotated while nobody looked
    follow = Follow(log, state, *RULE)
    assert follow.next()["n_evals"] == 4
    assert follow.end(signal.SIGINT) == 0
    write_log(log, [0.45], steps=[500])
    follow = Follow(log, state, *RULE)
    last = follow.next()
    assert (last["stop"], last["alarm_step"], last["best_step"]) == (True, 500, 200)
    assert follow.end() == 10
    state.write_text("{}")
    follow = Follow(log, state, *RULE)
    assert follow.end() == 2


def test_follow_does_not_remember_what_another_watch_saw(tmp_path):
    good = write_log(tmp_path / "good.jsonl", [0.4, 0.5, 0.6])
    bad = write_log(tmp_path / "bad.jsonl", [0.7, 0.6, 0.5, 0.4])
    follow = Follow(good, None, *RULE, cwd=tmp_path)
    assert follow.next()["run"] == "good"
    assert follow.end(signal.SIGINT) == 0
    follow = Follow(bad, None, *RULE, cwd=tmp_path)
    assert follow.next()["run"] == "bad"
    assert follow.end() == 10
    write_log(good, [0.7], steps=[400])
    follow = Follow(good, None, *RULE, cwd=tmp_path)
    assert (follow.next()["n_evals"], follow.end(signal.SIGINT)) == (4, 0)


def test_follow_takes_the_new_branch_of_a_resumed_run(tmp_path):
    log, state = tmp_path / "run.jsonl", tmp_path / "state.json"
    write_log(log, [0.4, 0.7, 0.6, 0.5])
    follow = Follow(log, state, *RULE)
    assert follow.next()["n_evals"] == 4
    write_log(log, [0.72, 0.74, 0.75], steps=[300, 400, 500])
    time.sleep(0.5)
    assert follow.process.poll() is None
    write_log(log, [0.72, 0.74, 0.75, 0.7, 0.65, 0.6], steps=[300, 400, 500, 600, 700, 800])
    last = follow.next()
    assert (last["alarm_step"], last["best_step"]) == (800, 500)
    assert follow.end() == 10


def test_follow_has_the_default_rule_for_forty_evals(tmp_path):
    log = write_log(tmp_path / "run.jsonl", [0.5, 0.6, 0.7])
    follow = Follow(log, tmp_path / "state.json")
    assert follow.next()["verdict"] == "go on"
    write_log(log, [0.5, 0.6, *(0.7 - i / 50 for i in range(9))])
    last = follow.next()
    assert last["stop"]
    assert (last["detector"], last["horizon"]) == ("mann-kendall", 40)
    assert last["threshold"] == exact(DEFAULT, 0.05, 40).threshold
    assert follow.end() == 10
