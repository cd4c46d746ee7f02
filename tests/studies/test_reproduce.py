"""`evalstop reproduce`: the report, its cache, its figures."""

import re
from pathlib import Path

import pandas as pd
import pytest

from evalstop.cli import main
from evalstop.studies.reproduce import NOT_SHOWN, SHOWN


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce") / "report"
    assert main(["reproduce", "--smoke", "--jobs", "1", "--no-track", "--out", str(folder)]) == 0
    return folder


def test_the_report_needs_nothing_but_itself(out):
    text = (out / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!#)""", text), "something is loaded from outside"
    assert "url(http" not in text
    assert "@import" not in text
    assert text.count("<svg") >= 8
    assert "fitted" in text


def test_the_paper_stands_beside_ours_with_a_verdict(out):
    claims = pd.read_csv(out / "claims.csv").set_index("claim")
    stored = pd.read_parquet(out / "claims.parquet").set_index("claim")
    pd.testing.assert_series_equal(claims["ours"], stored["ours"])
    assert len(claims) > 15
    assert set(claims["verdict"]) <= {"agrees", "differs", "cannot be met"}
    assert claims.loc["StopAt-0.65 JCT gain", "verdict"] == "cannot be met"
    assert claims.loc["EvalStop precision", "verdict"] == "agrees"
    assert (claims["ours_low"] <= claims["ours"]).all()
    assert (claims["ours"] <= claims["ours_high"]).all()
    text = (out / "report.html").read_text(encoding="utf-8")
    for claim, row in claims.iterrows():
        assert claim in text
        assert f"{row['ours']:.3f}" in text


def test_every_figure_is_there_for_a_paper(out):
    for name in (*SHOWN, *NOT_SHOWN):
        assert (out / name / "results.parquet").exists()
        drawn = {p.stem for p in (out / name).glob("*.svg")}
        assert drawn == {p.stem for p in (out / name).glob("*.pdf")}
        for pdf in (out / name).glob("*.pdf"):
            assert pdf.read_bytes().startswith(b"%PDF")


def test_a_second_run_computes_nothing_and_writes_the_same(out, capsys):
    def state():
        cells = {p: p.stat().st_mtime_ns for p in out.rglob("cells/*.json")}
        return cells, (out / "report.html").read_bytes()

    before = state()
    assert main(["reproduce", "--smoke", "--jobs", "1", "--no-track", "--out", str(out)]) == 0
    assert state() == before
    told = capsys.readouterr().out
    assert "cannot be met" in told
    assert str(out / "report.html") in told.replace("\n", "")
    assert Path(out / "claims.csv").exists()
