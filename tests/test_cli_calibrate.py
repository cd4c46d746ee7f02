"""`evalstop calibrate`, and what `watch` makes of its thresholds and of a fleet."""

import json
from pathlib import Path

import numpy as np
import pytest

from evalstop.cli import main
from evalstop.detectors.settings import spec_of
from evalstop.detectors.stop_rules import DEFAULT, rule_for_runs

CURVES = Path(__file__).parents[1] / "docs" / "examples" / "curves.csv"
HEALTHY = ("--healthy", CURVES, "--select", "label=plateau")
CUSUM = "cusum:target=given,mean=0,sigma=1,k=.5"


def run(capsys, *args):
    status = main(list(map(str, args)))
    told = capsys.readouterr()
    return status, told.out, told.err


def calibrate(capsys, *args):
    return run(capsys, "calibrate", *args)


def as_json(capsys, *args):
    status, out, _ = calibrate(capsys, *args, "--json")
    assert status == 0
    return json.loads(out)


def write_runs(folder, scores):
    folder.mkdir(exist_ok=True)
    for name, values in scores.items():
        rows = [json.dumps({"step": i, "eval_accuracy": float(v)}) for i, v in enumerate(values)]
        (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def test_the_promise_is_a_sentence(capsys):
    asked = ("--detector", "k-decline", "--fpr", ".05", "--horizon", "10")
    status, out, err = calibrate(capsys, *asked)
    assert (status, err) == (0, "")
    assert out == (
        "k-decline:k=4: stop when the statistic reaches 4\n"
        "at most 4.3% false stops within 10 evals "
        "(exact: flat curve, independent continuous noise)\n"
    )


def test_without_a_detector_it_is_that_of_watch(capsys):
    told = as_json(capsys, "--fpr", ".1", "--horizon", "7")
    assert told["detector"] == spec_of(DEFAULT)
    assert told["threshold"] == rule_for_runs(None, None, 0.1, None)(7).threshold


def test_fresh_runs_are_told_where_there_are_some(capsys):
    """A threshold of flat noise is measured on runs drawn anew, one of permutations is not."""
    asked = ("--fpr", ".05", "--horizon", "12")
    _, out, _ = calibrate(capsys, *asked, "--detector", "mann-kendall")
    assert out.splitlines()[-1] == "seed 0, 50000 simulated runs"
    _, out, _ = calibrate(capsys, *asked, "--detector", "slope-glr", "--runs", "1000")
    assert out.splitlines()[-1] == "seed 0, 1000 simulated runs, and as many fresh ones"


def test_the_published_threshold(capsys):
    asked = ("--detector", CUSUM, "--fpr", ".046568", "--horizon", "20", "--method", "exact")
    _, out, _ = calibrate(capsys, *asked)
    assert "reaches 4.000\n" in out
    told = as_json(capsys, *asked)
    assert told["threshold"] == pytest.approx(4.0, abs=5e-4)
    assert (told["nominal"], told["method"], told["horizon"]) == (0.046568, "exact", 20)
    assert told["interval"] == [told["realised"]] * 2
    assert "independent Gaussian noise of sd 1" in told["assumptions"]


def test_the_best_method_is_taken_and_named(capsys):
    asked = ("--horizon", "6", "--fpr", ".2")
    assert as_json(capsys, "--detector", "mann-kendall", *asked)["method"] == "exact"
    assert as_json(capsys, "--detector", "slope-glr", *asked)["method"] == "flat"
    assert as_json(capsys, *asked, "--boundary")["method"] == "flat"
    assert as_json(capsys, *asked, "--rho", ".3")["method"] == "flat"
    assert as_json(capsys, *asked, *HEALTHY)["method"] == "conformal"
    for method in ("exact", "flat"):
        assert as_json(capsys, *asked, "--method", method)["method"] == method


def test_flat_noise_as_it_is_described(capsys):
    asked = ("--detector", "drawdown", "--horizon", "8", "--sigma", ".02")
    plain = as_json(capsys, *asked)
    assert (plain["runs"], plain["seed"]) == (50_000, 0)
    assert plain["interval"][0] < plain["realised"] < plain["interval"][1]
    assert plain["realised"] == pytest.approx(0.05, abs=0.006)
    for option in (("--rho", ".5"), ("--noise", "t3"), ("--seed", "7"), ("--runs", "9000")):
        assert as_json(capsys, *asked, *option)["threshold"] != plain["threshold"]
    twice = as_json(capsys, *asked[:-1], ".04")
    assert twice["threshold"] == pytest.approx(2 * plain["threshold"])
    _, out, _ = calibrate(capsys, *asked, "--seed", "7", "--noise", "t3")
    assert "seed 7, 50000 simulated runs" in out
    assert "independent Student t (3 df) noise of sd 0.02" in out


def test_a_boundary_is_shown_eval_by_eval(capsys):
    asked = ("--detector", "drawdown", "--horizon", "5", "--sigma", "1", "--boundary")
    status, out, _ = calibrate(capsys, *asked)
    lines = out.splitlines()
    assert status == 0
    assert lines[1].split(maxsplit=1) == ["1", "more than 0"]
    assert [int(line.split()[0]) for line in lines[1:6]] == [1, 2, 3, 4, 5]
    assert "within n evals n/5 of that" in lines[6]
    levels = as_json(capsys, *asked)["threshold"]
    assert len(levels) == 5
    assert levels == sorted(levels)
    assert as_json(capsys, "--detector", "slope-glr", *asked[2:])["threshold"][:2] == [None, None]


def test_healthy_runs_are_counted(capsys):
    told = as_json(capsys, "--detector", "slope-glr", "--horizon", "8", *HEALTHY)
    assert told["runs"] >= 19
    assert told["seed"] is None
    assert f"exchangeable with {told['runs']} healthy runs" in told["promise"]
    chat = as_json(
        capsys, "--detector", "slope-glr", "--horizon", "8", "--fpr", ".2", *HEALTHY,
        "--select", "source=chat",
    )  # fmt: skip
    assert chat["runs"] < told["runs"]
    blocks = as_json(capsys, "--detector", "slope-glr", "--horizon", "4", *HEALTHY, "--blocks")
    assert blocks["runs"] > told["runs"]
    assert "blocks of healthy runs" in blocks["promise"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "--horizon: is missing"),
        (("--horizon", "0"), "horizon: must be at least 1"),
        (("--horizon", "9", "--fpr", "1.5"), "fpr: must be between 0 and 1"),
        (("--horizon", "9", "--method", "magic"), "say exact, flat or conformal"),
        (("--horizon", "9", "--method", "conformal"), "name the curves of healthy runs"),
        (("--horizon", "9", "--method", "exact", "--rho", ".3"), "--rho: belongs to --method flat"),
        (("--horizon", "9", *HEALTHY, "--sigma", "1"), "--sigma: belongs to --method flat"),
        (("--horizon", "9", "--blocks"), "--blocks: belongs to --method conformal"),
        (("--horizon", "9", "--method", "exact", "--boundary"), "constant over evals"),
        (("--horizon", "9", "--noise", "t4"), "noise must be one of gaussian, t3"),
        (("--horizon", "9", "--rho", "2"), "rho must be at most 0.99"),
        (("--horizon", "9", "--seed", "-1"), "Invalid value for '--seed'"),
        (("--horizon", "9", "--detector", "drawdown"), "give --sigma"),
        (("--horizon", "9", "--detector", "fixed-progress"), "it reads the progress"),
        (("--horizon", "9", "--detector", "cusum", "--method", "exact"), "set target=given"),
        (("--horizon", "9", "--detector", "drawdwon"), "did you mean 'drawdown'"),
        (("--horizon", "9", *HEALTHY, "--fpr", ".01"), "needs 99 healthy runs of at least 9"),
        (("--horizon", "9", *HEALTHY, "--select", "label=x"), "no curve has this"),
    ],
)
def test_bad_questions_get_one_line(options, says, capsys):
    status, out, err = calibrate(capsys, *options)
    assert (status, out) == (2, "")
    assert says in err
    assert sum(line.startswith("error: ") for line in err.splitlines()) == 1


def test_what_can_never_alarm_or_sees_too_little_is_told(capsys):
    _, _, err = calibrate(capsys, "--detector", "mann-kendall", "--horizon", "3")
    assert "warning: no alarm is possible within 3 evals at this budget" in err
    rule = ("--detector", "e-process:sigma=1,horizon=5", "--runs", "1000")
    _, _, err = calibrate(capsys, *rule, "--horizon", "9")
    assert "warning: e-process: sees falls that begin within 5 evals only" in err


def test_watch_uses_what_was_written(tmp_path, capsys):
    scores = {"flat": [0.5, 0.52, 0.49, 0.51, 0.5, 0.52], "fell": [0.5, 0.7, 0.6, 0.5, 0.4, 0.3]}
    runs, file = write_runs(tmp_path / "runs", scores), tmp_path / "calibration.json"
    for boundary in ((), ("--boundary",)):
        asked = ("--detector", "drawdown", "--sigma", ".02", "--horizon", "6", *boundary)
        _, _, err = calibrate(capsys, *asked, "--out", file)
        assert f"wrote: {file}" in err
        status, out, _ = run(capsys, "watch", runs, "--calibration", file, "--json")
        told = {v["run"]: v for v in json.loads(out)}
        assert status == 10
        assert told["fell"]["stop"]
        assert not told["flat"]["stop"]
        assert told["fell"]["method"] == "flat"
        level = json.loads(file.read_text())["threshold"]
        level = level[-1] if boundary else level
        assert told["flat"]["threshold"] == pytest.approx(level)


def test_watch_simulates_where_that_needs_no_guess(tmp_path, capsys):
    scores = {"flat": [0.5, 0.52, 0.49, 0.51, 0.5], "fell": [0.5, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]}
    runs = write_runs(tmp_path / "runs", scores)
    status, out, _ = run(capsys, "watch", runs, "--detector", "slope-glr", "--fpr", ".05", "--json")
    told = {v["run"]: v for v in json.loads(out)}
    assert (status, told["fell"]["stop"], told["flat"]["stop"]) == (10, True, False)
    for name, n in (("flat", 5), ("fell", 7)):
        alone = as_json(capsys, "--detector", "slope-glr", "--horizon", n)
        assert told[name]["threshold"] == alone["threshold"]
        assert told[name]["promise"] == alone["promise"]
        assert "(flat, realised" in told[name]["promise"]
    status, _, err = run(capsys, "watch", runs, "--detector", "drawdown", "--fpr", ".05")
    assert status == 2
    assert "give --sigma" in err
    status, out, _ = run(capsys, "watch", runs, "--detector", "drawdown", "--sigma", ".02")
    assert status == 10
    assert "of sd 0.02" in out


def test_watch_calibrates_on_healthy_runs(tmp_path, capsys):
    rng = np.random.default_rng(0)
    past = {f"old-{i}": 0.6 + 0.02 * rng.standard_normal(8) for i in range(30)}
    past = write_runs(tmp_path / "past", past)
    scores = {"flat": 0.6 + 0.02 * rng.standard_normal(8), "fell": np.linspace(0.7, 0.3, 8)}
    runs = write_runs(tmp_path / "runs", scores)
    asked = ("watch", runs, "--healthy", past, "--detector", "drawdown")
    status, out, _ = run(capsys, *asked, "--json")
    told = {v["run"]: v for v in json.loads(out)}
    assert (status, told["fell"]["stop"], told["flat"]["stop"]) == (10, True, False)
    assert told["flat"]["method"] == "conformal"
    assert told["flat"]["fpr_nominal"] == 0.05
    status, _, err = run(capsys, *asked, "--fpr", ".01")
    assert status == 2
    assert "needs 99 healthy runs of at least 8 evals, there are 30" in err
    status, out, err = run(capsys, *asked, "--fdr", ".1", "--json")
    told = {v["run"]: v for v in json.loads(out)}
    assert (status, told["fell"]["stop"], told["flat"]["stop"]) == (10, True, False)
    assert told["fell"]["p_value"] == pytest.approx(1 / 31)
    assert "warning" not in err


def test_watch_over_a_fleet(tmp_path, capsys):
    rng = np.random.default_rng(1)
    scores = {f"flat-{i}": 0.6 + 0.02 * rng.standard_normal(10) for i in range(12)}
    scores |= {f"fell-{i}": np.linspace(0.7, 0.3, 10) for i in range(3)}
    runs = write_runs(tmp_path / "runs", scores)
    for rule, value in ((), "p"), (("--detector", "e-process:sigma=.02"), "e"):
        status, out, _ = run(capsys, "watch", runs, "--fdr", ".1", *rule, "--json")
        told = json.loads(out)
        assert status == 10
        assert {v["run"] for v in told if v["stop"]} == {"fell-0", "fell-1", "fell-2"}
        assert all(v["fdr"] == 0.1 and v[f"{value}_value"] > 0 for v in told)
        assert {v["verdict"] for v in told} == {"stop", "go on"}
        _, out, _ = run(capsys, "watch", runs, "--fdr", ".1", *rule)
        assert f"{value} = " in out
        assert "at most 10% of the stops among the 15 runs judged are wrong, on average" in out
    assert run(capsys, "watch", runs / "flat-0.jsonl", "--fdr", ".1")[0] == 0


@pytest.mark.parametrize(
    "option", [("--fpr", ".1"), ("--horizon", "9"), ("--threshold", "3"), ("--follow",)]
)
def test_a_fleet_has_no_other_budget(option, capsys):
    status, _, err = run(capsys, "watch", CURVES, "--fdr", ".1", *option)
    assert status == 2
    assert "--fdr: it looks at all runs once" in err


def test_a_bad_level_is_refused(capsys):
    status, _, err = run(capsys, "watch", CURVES, "--metric", "eval_win_rate", "--fdr", "1")
    assert status == 2
    assert "fdr: must be between 0 and 1" in err


def test_an_e_process_must_cover_the_run(tmp_path, capsys):
    runs = write_runs(tmp_path / "runs", {"long": np.full(9, 0.5)})
    rule = "e-process:sigma=.02,horizon=5"
    status, out, err = run(capsys, "watch", runs, "--detector", rule)
    assert status == 0
    assert "Ville" in out
    assert "long / eval_accuracy: 9 evals, e-process sees falls that begin within 5 only" in err


def test_a_result_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("here")
    for out in (tmp_path, tmp_path / "file" / "found.json"):
        assert main(["calibrate", "--horizon", "5", "--out", str(out)]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"error: {out}: cannot be written: ")
        assert told.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_horizon_beyond_calculation_is_refused(capsys):
    assert main(["calibrate", "--horizon", "1000000"]) == 2
    assert "horizon: must be at most 100000 evals" in capsys.readouterr().err
