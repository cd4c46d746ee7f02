"""The train-side channels at each eval."""

import json
import math

import pytest

from evalstop.detectors.logs import channels_at, read_logs


def test_the_last_train_row_at_or_before_each_eval(tmp_path):
    rows = [{"step": 0, "eval_x": 1}, {"step": 1, "loss": 9, "kl": 0.1}, {"step": 2, "loss": 8}]
    rows += [{"step": 2, "eval_x": 2}, {"step": 5, "reward": 3}, {"step": 6, "eval_x": 3}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reading = read_logs(path)
    curve = next(c for c in reading.curves if c.role == "eval")
    got = {name: values.tolist() for name, values in channels_at(curve, reading).items()}
    nan = math.nan
    assert got == {
        "loss": pytest.approx([nan, 8, 8], nan_ok=True),
        "kl": pytest.approx([nan, 0.1, 0.1], nan_ok=True),
        "proxy": pytest.approx([nan, nan, 3], nan_ok=True),
    }


def test_the_most_telling_name_and_the_own_run_win(tmp_path):
    text = "run,step,approx_kl,kl,eval_x\nA,1,9,1,1\nA,2,9,2,1\nB,1,9,5,1\nB,2,9,6,1\n"
    path = tmp_path / "a.csv"
    path.write_text(text)
    reading = read_logs(path)
    at = {c.run: channels_at(c, reading)["kl"].tolist() for c in reading.curves if c.role == "eval"}
    assert at == {"A": [1, 2], "B": [5, 6]}


def test_a_tidy_table_gives_each_curve_its_own_channels(tmp_path):
    head = "curve_id,run,metric,step,value,loss,progress,shape_label\n"
    text = head + "a,R,eval_x,1,.1,5,.5,up\na,R,eval_x,2,.2,4,1,up\nb,R,eval_x,1,.1,9,.5,down\n"
    path = tmp_path / "a.csv"
    path.write_text(text)
    reading = read_logs(path)
    evals = [c for c in reading.curves if c.role == "eval"]
    assert [dict(c.labels) for c in evals] == [
        {"curve_id": "a", "shape_label": "up"},
        {"curve_id": "b", "shape_label": "down"},
    ]
    got = [{k: v.tolist() for k, v in channels_at(c, reading).items()} for c in evals]
    assert got == [{"loss": [5, 4], "progress": [0.5, 1]}, {"loss": [9], "progress": [0.5]}]


def test_the_optional_real_curves(shared):
    reading = read_logs(shared / "data" / "real_curves.csv")
    evals = [c for c in reading.curves if c.role == "eval"]
    assert len(evals) == 200
    assert sum(len(c.steps) for c in evals) == 6206
    assert all(c.higher_is_better is not None for c in evals)
    assert {c.labels["shape_label"] for c in evals} == {
        *("declined", "healthy", "plateau", "ambiguous")
    }
    zephyr = [c for c in evals if c.run == "zephyr-7b-alpha"]
    assert all(len(channels_at(c, reading)["loss"]) == len(c.steps) for c in zephyr)
    assert reading.warnings == []
