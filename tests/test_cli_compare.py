"""`evalstop scan` and `evalstop compare` as a user types them."""

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from evalstop.cli import main

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "curves.csv"
FEW = ["--detectors", "k-decline:k=2,drawdown"]


@pytest.fixture
def evalstop(capsys):
    """Run a command; give its status, what it printed, and its lines on stderr."""

    def run(*args):
        status = main([str(a) for a in args])
        printed = capsys.readouterr()
        return status, printed.out, printed.err.splitlines()

    return run


def write(path, rows, header="run,metric,step,value,higher_is_better,label"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def tidy(path, curves, **options):
    rows = [
        f"{run},acc,{10 * (i + 1)},{value},1,{label}"
        for run, (label, values) in curves.items()
        for i, value in enumerate(values)
    ]
    return write(path, rows, **options)


SMALL = {
    "a": ("declined", [0.1, 0.6, 0.5, 0.4]),
    "b": ("healthy", [0.1, 0.3, 0.6, 0.7]),
    "c": ("ambiguous", [0.3, 0.2, 0.4]),
}


class TestScan:
    def test_the_statistic_of_every_eval(self, evalstop, tmp_path):
        status, out, _ = evalstop(
            "scan", tidy(tmp_path / "c.csv", SMALL), "--detector", "k-decline"
        )
        rows = list(csv.reader(out.splitlines()))
        assert status == 0
        assert rows[0] == ["run", "metric", "step", "statistic"]
        assert rows[1:5] == [
            ["a", "acc", "10", "0.0"],
            ["a", "acc", "20", "0.0"],
            ["a", "acc", "30", "1.0"],
            ["a", "acc", "40", "2.0"],
        ]
        assert len(rows) == 1 + 4 + 4 + 3

    def test_what_cannot_be_judged_yet_is_minus_infinity_and_never_nan(self, evalstop, tmp_path):
        gaps = write(tmp_path / "c.csv", ["a,acc,1,nan,1,x", "a,acc,2,0.5,1,x", "a,acc,3,nan,1,x"])
        _, out, _ = evalstop("scan", gaps, "--detector", "drawdown")
        assert [row.split(",")[3] for row in out.splitlines()[1:]] == ["-inf", "0.0", "0.0"]

    def test_settings_of_the_detector(self, evalstop, tmp_path):
        file = tidy(tmp_path / "c.csv", SMALL)
        short = evalstop("scan", file, "--detector", "ewma-drawdown:weight=0.3")
        long = evalstop("scan", file, "--detector", "ewma-drawdown", "--set", "weight=0.3")
        assert short == long
        assert evalstop("scan", file, "--detector", "ewma-drawdown")[1] != short[1]

    def test_lower_is_better_is_turned(self, evalstop, tmp_path):
        rows = ["a,ppl,1,5,0,x", "a,ppl,2,4,0,x", "a,ppl,3,6,0,x"]
        _, out, _ = evalstop("scan", write(tmp_path / "c.csv", rows), "--detector", "k-decline")
        assert [row.split(",")[3] for row in out.splitlines()[1:]] == ["0.0", "0.0", "1.0"]

    def test_an_unknown_direction_is_refused_with_the_option_to_give(self, evalstop, tmp_path):
        file = write(
            tmp_path / "c.csv", ["a,quality,1,5", "a,quality,2,4"], "run,metric,step,value"
        )
        status, out, err = evalstop("scan", file)
        assert (status, out) == (2, "")
        assert "--direction quality=higher" in err[-1]
        status, out, _ = evalstop(
            "scan", file, "--direction", "quality=higher", "--detector", "k-decline"
        )
        assert status == 0
        assert out.splitlines()[2] == "a,quality,2,1.0"

    def test_progress_is_derived_only_when_asked_for_and_said(self, evalstop, tmp_path):
        file = tidy(tmp_path / "c.csv", SMALL)
        _, out, err = evalstop("scan", file, "--detector", "fixed-progress")
        assert out.splitlines()[1:3] == ["a,acc,10,0.25", "a,acc,20,0.5"]
        assert any("step / last step" in line for line in err)
        assert not any("progress" in line for line in evalstop("scan", file)[2])

    def test_a_channel_that_is_lacking(self, evalstop, tmp_path):
        file = tidy(tmp_path / "c.csv", SMALL)
        status, _, err = evalstop("scan", file, "--detector", "loss-plateau")
        assert status == 2
        assert err[-1].startswith("error: loss")

    def test_out_writes_a_file(self, evalstop, tmp_path):
        file = tidy(tmp_path / "c.csv", SMALL)
        _, out, _ = evalstop("scan", file)
        status, nothing, _ = evalstop("scan", file, "--out", tmp_path / "new" / "s.csv")
        assert (status, nothing) == (0, "")
        assert (tmp_path / "new" / "s.csv").read_text() == out


class TestCompare:
    def test_the_example_of_the_readme(self, evalstop, tmp_path):
        status, out, err = evalstop(
            "compare", EXAMPLE, "--labels", "label", "--out", tmp_path / "out"
        )
        assert status == 0
        assert "Each rule at its own threshold" in out
        assert "Every rule held to 1.5 % false positives" in out
        for word in ("k-decline:k=2", "never", "always", "unimodal-glr", "saves most"):
            assert word in out
        assert "note: seed 0" in err
        assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
            "amoc.png",
            "amoc.svg",
            "findings.txt",
            "leaderboard.csv",
            "leaderboard.parquet",
            "report.html",
            "results.csv",
            "results.parquet",
            "roc.png",
            "roc.svg",
            "study.json",
        ]
        page = (tmp_path / "out" / "report.html").read_text()
        assert f"evalstop compare {EXAMPLE} --labels label" in page
        assert str(tmp_path) not in page

    def test_the_table_fits_a_hundred_columns(self, evalstop):
        _, out, _ = evalstop("compare", EXAMPLE, "--labels", "label")
        tables = out.splitlines()[:-2]
        assert max(len(line.rstrip()) for line in tables) <= 100

    def test_the_example_file_is_what_its_script_writes(self, tmp_path):
        script = tmp_path / "make_curves.py"
        script.write_text((EXAMPLE.parent / "make_curves.py").read_text())
        subprocess.run([sys.executable, script], check=True)
        assert (tmp_path / "curves.csv").read_bytes() == EXAMPLE.read_bytes()

    def test_labels_from_a_file(self, evalstop, tmp_path):
        curves = tidy(tmp_path / "c.csv", SMALL)
        labels = tmp_path / "labels.csv"
        labels.write_text("run,label\na,good\nb,bad\nc,good\n")
        _, out, err = evalstop("compare", curves, "--labels", labels, "--positive", "bad", *FEW)
        assert "note: positive: 1 curve labelled bad; negative: 2 good" in err
        row = next(line for line in out.splitlines() if line.startswith("k-decline"))
        assert row.split()[2:4] == ["0/1", "1/2"]

    def test_select(self, evalstop):
        chosen = ["--select", "source=code", "--select", "metric=eval_pass_at_1"]
        _, _, err = evalstop("compare", EXAMPLE, "--labels", "label", *chosen, *FEW)
        with EXAMPLE.open(newline="") as file:
            rows = [r for r in csv.DictReader(file) if r["metric"] == "eval_pass_at_1"]
        label = {r["run"]: r["label"] for r in rows}
        told = Counter(label.values())
        assert (
            f"note: positive: {told['declined']} curves labelled declined; "
            f"negative: {told['healthy']} healthy, {told['plateau']} plateau"
        ) in err
        warnings = [line for line in err if line.startswith("warning:")]
        assert len(warnings) == 1
        assert "needs 66 negative runs" in warnings[0]

    def test_a_rule_of_ones_own(self, evalstop, tmp_path):
        rule = tmp_path / "mine.py"
        rule.write_text(
            "class Last:\n    inputs = ('score',)\n"
            "    def statistic(self, prefix):\n        return -prefix[:, -1]\n"
        )
        status, out, _ = evalstop(
            "compare", EXAMPLE, "--labels", "label", "--detectors", f"{rule}:Last"
        )
        assert status == 0
        assert any(line.startswith("Last ") for line in out.splitlines())

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (["--labels", "lable"], "labels: there is no column or file 'lable', did you mean"),
            (["--labels", "label", "--positive", "bad"], "need curves labelled 'bad'"),
            (["--labels", "label", "--select", "sorce=x"], "did you mean 'source'"),
            (["--labels", "label", "--select", "source"], "--select source: say NAME=VALUE"),
            (["--labels", "label", "--fpr", "2"], "fpr: must be between 0 and 1"),
            (["--labels", "label", "--detectors", "k-declin"], "did you mean 'k-decline'"),
            (["--labels", "label", "--detectors", "loss-plateau"], "it reads loss"),
        ],
    )
    def test_bad_input_is_one_line(self, evalstop, args, said):
        status, out, err = evalstop("compare", EXAMPLE, *args)
        assert (status, out) == (2, "")
        errors = [line for line in err if line.startswith("error: ")]
        assert len(errors) == 1
        assert said in errors[0]
        assert err[-1] == errors[0]

    def test_one_name_in_two_sources_is_two_runs(self, evalstop, tmp_path):
        rows = [
            f"{source},seed-0,acc,{10 * (i + 1)},{value},1,{label}"
            for source, (label, values) in zip("xy", SMALL.values(), strict=False)
            for i, value in enumerate(values)
        ]
        header = "source,run,metric,step,value,higher_is_better,label"
        file = write(tmp_path / "c.csv", rows, header)
        _, _, err = evalstop("compare", file, "--labels", "label", *FEW)
        assert "note: positive: 1 curve labelled declined; negative: 1 healthy" in err

    def test_no_rules_are_refused(self, evalstop):
        status, out, err = evalstop("compare", EXAMPLE, "--labels", "label", "--detectors", "")
        assert (status, out) == (2, "")
        assert err == ["error: --detectors: there is none to compare, name one or more"]

    def test_every_file_is_told_of_in_the_docs(self, evalstop, tmp_path):
        page = (EXAMPLE.parents[1] / "compare.md").read_text(encoding="utf-8")
        curves, out = tidy(tmp_path / "c.csv", SMALL), tmp_path / "out"
        evalstop("compare", curves, "--labels", "label", *FEW, "--out", out)
        files = {path.name for path in out.iterdir()}
        assert "roc.png" in files
        assert not {name for name in files if f"`{name}`" not in page}

    def test_all_are_those_that_are_listed(self, evalstop, tmp_path):
        curves = tidy(tmp_path / "c.csv", SMALL)
        _, out, err = evalstop("compare", curves, "--labels", "label", "--detectors", "all")
        ruled = {line.split()[0] for line in out.splitlines() if line.strip()}
        assert {"k-decline", "patience", "stop-at", "never", "always"} <= ruled
        assert any("loss-plateau: left out, it reads loss" in line for line in err)

    def test_no_such_file(self, evalstop, tmp_path):
        status, _, err = evalstop("compare", tmp_path / "none.csv", "--labels", "label")
        assert status == 2
        assert "there is no such file" in err[-1]

    def test_real_curves(self, evalstop, shared):
        status, out, err = evalstop(
            *("compare", shared / "data" / "real_curves.csv", "--labels", "shape_label"),
            *("--select", "source=EleutherAI/pythia", *FEW),
        )
        assert status == 0
        row = next(line for line in out.splitlines() if line.startswith("k-decline"))
        assert row.split()[:4] == ["k-decline", "2", "17/19", "59/108"]
        assert any("10 ambiguous left out" in line for line in err)


class TestDocs:
    page = (EXAMPLE.parents[1] / "compare.md").read_text(encoding="utf-8")

    def test_the_table_in_the_docs_is_what_is_printed(self, evalstop):
        _, out, _ = evalstop("compare", EXAMPLE, "--labels", "label")
        shown = [line for line in self.page.splitlines() if re.search(r" \d+/\d+ +\d+/\d+ ", line)]
        assert len(shown) == 4
        assert set(shown) <= set(out.splitlines())

    def test_the_python_in_the_docs_runs(self, tmp_path, monkeypatch, capsys):
        (example,) = re.findall(r"```python\n(.*?)```", self.page, re.DOTALL)
        (tmp_path / "docs" / "examples").mkdir(parents=True)
        (tmp_path / "docs" / "examples" / "curves.csv").write_bytes(EXAMPLE.read_bytes())
        monkeypatch.chdir(tmp_path)
        exec(example, {})
        assert capsys.readouterr().out == "slope-glr 31 4\n"
        assert (tmp_path / "evalstop-out" / "compare" / "report.html").is_file()
