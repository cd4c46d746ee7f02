"""The kit of logs with what every reader of them must say."""

import json
import re
import shutil
from pathlib import Path

import pytest
from log_kit import differences, load

from evalstop.cli import main
from evalstop.detectors.logs import read_logs
from evalstop.errors import UserError

KIT = Path(__file__).resolve().parents[2] / "data" / "logs"
CASES = sorted(p.relative_to(KIT).as_posix() for p in KIT.rglob("*.expected.json"))


@pytest.fixture(scope="module")
def kit(tmp_path_factory) -> Path:
    copy = tmp_path_factory.mktemp("logs") / "kit"
    shutil.copytree(KIT, copy)
    for name, target in json.loads((copy / "links.json").read_text()).items():
        (copy / name).symlink_to(target)
    return copy


def test_the_kit_is_there():
    assert len(CASES) == 46


@pytest.mark.parametrize("case", CASES)
def test_reads_as_expected(kit, case):
    log, want = load(kit / case)
    before = sorted(p.name for p in log.parent.iterdir())
    if want["kind"] == "error":
        with pytest.raises(UserError, match=want["error"]["match"]) as told:
            read_logs(log)
        assert "\n" not in str(told.value)
    else:
        metrics = want.get("read_with", {}).get("metrics", [])
        assert differences(want, read_logs(log, metrics=metrics)) == []
    if "without_hints" in want:
        with pytest.raises(UserError, match=want["without_hints"]["error"]["match"]):
            read_logs(log)
    assert sorted(p.name for p in log.parent.iterdir()) == before
    assert not Path(want.get("must_not_exist", "/nowhere")).exists()


def test_best_is_where_the_kit_says(kit):
    told = [load(kit / case) for case in CASES]
    for log, want in ((log, want) for log, want in told if "best" in want):
        curves = {c.metric: c for c in read_logs(log).curves}
        best = want["best"]
        assert curves[best["metric"]].best() == (best["step"], pytest.approx(best["value"]))


def test_step_every_scales_the_order(kit):
    curve = read_logs(kit / "td3_eval.npy", step_every=5000).curves[0]
    _, want = load(kit / "td3_eval.npy.expected.json")
    assert curve.steps.tolist() == want["alt"]["step_every=5000"]["steps"]


@pytest.mark.parametrize("case", ["hf_trainer_state.json", "mlflow_filestore", "trl_console.log"])
def test_command_gives_json(kit, capsys, case):
    assert main(["read", "--json", "--", str(kit / case)]) == 0
    printed = json.loads(capsys.readouterr().out)
    keys = ["run", "metric", "role", "higher_is_better", "steps", "values", "nonfinite"]
    assert all(list(curve) == [*keys, "stderr", "n"] for curve in printed)
    _, want = load(kit / f"{case}.expected.json")
    first = want["curves"][0]
    found = [c for c in printed if (c["metric"], c["role"]) == (first["metric"], "eval")]
    assert first["values"] in [pytest.approx(c["values"]) for c in found]


def test_command_warns_and_notes_on_stderr(kit, capsys):
    assert main(["read", str(kit / "x_step_backwards.csv")]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"^warning: .*goes back from 400 to 250", err, re.MULTILINE)
    assert re.search(r"^note: higher is better .*: eval_bleu", err, re.MULTILINE)
    assert "eval_bleu" in out
    assert "▁" in out


def test_command_refuses_in_one_line(kit, capsys):
    assert main(["read", str(kit / "x_pickle.pkl")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
