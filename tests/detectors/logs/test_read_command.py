"""``evalstop read``."""

import json

import pytest

from evalstop.cli import main

LOG = "step,eval_acc,eval_gain,loss\n1,.5,1,3\n2,nan,2,2\n3,.75,1.5,1\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "my log [1].csv"
    path.write_text(LOG)
    return path


def test_a_table_with_curves(log, capsys):
    assert main(["read", str(log)]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if "eval_acc" in line)
    assert row.split() == [
        "my",
        "log",
        "[1]",
        "eval_acc",
        "higher",
        "3",
        "3",
        "3",
        "0.75",
        "▁",
        "█",
    ]
    assert "?" in next(line for line in out.splitlines() if "eval_gain" in line)
    assert "train loss" in out


def test_json_has_null_where_a_value_is_missing(log, capsys):
    assert main(["read", "--json", "--direction", "eval_gain=lower", "--", str(log)]) == 0
    out, err = capsys.readouterr()
    acc, gain, loss = json.loads(out)
    assert acc["values"] == [0.5, None, 0.75]
    assert acc["nonfinite"] == [{"step": 2, "value": "nan"}]
    assert acc["steps"] == [1, 2, 3]
    assert (gain["higher_is_better"], loss["role"]) == (False, "train_loss")
    assert "warning: my log [1]/eval_acc is nan at step 2" in err


def test_csv_can_be_read_again(log, tmp_path, capsys):
    assert main(["read", "--csv", str(log)]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[:2] == [
        "run,metric,role,step,value,stderr,higher_is_better",
        "my log [1],eval_acc,eval,1,0.5,,1",
    ]
    again = tmp_path / "again.csv"
    again.write_text(text)
    assert main(["read", "--csv", str(again)]) == 0
    assert capsys.readouterr().out == text


def test_a_metric_is_picked(log, capsys):
    assert main(["read", "--json", "--metric", "loss", str(log)]) == 0
    (curve,) = json.loads(capsys.readouterr().out)
    assert (curve["metric"], curve["role"]) == ("loss", "eval")


def test_what_fails_is_told_and_the_rest_is_read(log, tmp_path, capsys):
    assert main(["read", "--json", str(log), str(tmp_path / "none")]) == 2
    out, err = capsys.readouterr()
    assert len(json.loads(out)) == 3
    assert "error: " in err
    assert "no such file" in err


def test_names_cannot_steer_a_terminal(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("run,step,eval_x\n[bold]\x1b[31mR,1,1\n[bold]\x1b[31mR,2,2\n")
    assert main(["read", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "[bold]?[31mR" in out
    assert "\x1b" not in out + err


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--direction", "eval_acc"], "METRIC=higher"),
        (["--direction", "eval_acc=up"], "=higher or"),
        (["--direction", "nothing=lower"], "there is no such metric"),
        (["--metric", "nothing"], "no series nothing"),
        (["--json", "--csv"], "one of the two"),
        (["--step-every", "-5"], "positive"),
    ],
)
def test_wrong_options(log, capsys, options, match):
    assert main(["read", *options, "--", str(log)]) == 2
    err = capsys.readouterr().err
    assert match in err
    assert err.startswith("error: ")
