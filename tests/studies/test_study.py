"""Studies: read from TOML, laid out as a grid, summed up with paired intervals."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalstop.errors import UserError
from evalstop.studies import study as study_module
from evalstop.studies.analysis import analyse
from evalstop.studies.grid import place
from evalstop.studies.named import NAMED
from evalstop.studies.results import run_study
from evalstop.studies.study import Study, read_study
from evalstop.studies.summary import against, leaders, summarize
from evalstop.studies.thresholds import THRESHOLDS

MINE = """
name = "mine"
question = "Which?"
worlds = ["paper", "gao-rl:sigma=0.05"]
detectors = ["k-decline", "drawdown", "k-decline:k=4 @ natural"]
thresholds = ["natural", "matched:fpr=0.05"]
scores = ["saved", "recall"]
seeds = 3
runs = 300

[axes]
sigma = [0.02, 0.04]
hacking = 0.5
detector.k = [2, 3]
"""


def written(tmp_path, text):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return file


@pytest.fixture
def mine(tmp_path):
    return read_study(written(tmp_path, MINE))


def test_a_study_as_toml(mine):
    assert mine == Study(
        name="mine",
        question="Which?",
        worlds=("paper", "gao-rl:sigma=0.05"),
        detectors=("k-decline", "drawdown", "k-decline:k=4 @ natural"),
        thresholds=("natural", "matched:fpr=0.05"),
        scores=("saved", "recall"),
        seeds=3,
        runs=300,
        axes={"sigma": (0.02, 0.04), "hacking": (0.5,), "detector.k": (2, 3)},
    )
    told = json.loads(json.dumps(mine.told()))
    assert told["axes"]["detector.k"] == [2, 3]


DOCS = Path(__file__).parents[2] / "docs" / "studies.md"


@pytest.mark.parametrize("page", [DOCS.read_text("utf-8"), study_module.__doc__])
def test_the_examples_of_the_docs_are_studies(tmp_path, page):
    text = page.partition("```toml\n")[2].partition("```")[0]
    study = read_study(written(tmp_path, text))
    assert study.worlds == ("paper", "gao-rl")
    assert {p.labels["n"] for p in place(study, 0)} == {8, 16}


def test_the_docs_name_every_study_and_every_threshold():
    page = DOCS.read_text("utf-8")
    for named in NAMED.values():
        assert f"| `{named.study.name}` | {named.study.question} |" in page
    for threshold in THRESHOLDS.members:
        assert f"| `{threshold.name}" in page
    for key in {f.name for f in fields(Study)} - {"name", "question"}:
        assert f"`{key}`" in page


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("worlds =", "world =", "there is no key 'world', did you mean 'worlds'"),
        ("seeds = 3", "sedes = 3", "there is no key 'sedes', did you mean 'seeds'"),
        ("seeds = 3", "seeds = 1", "seeds must be at least 2"),
        ("seeds = 3", 'seeds = "3"', "seeds must be a whole number"),
        ("seeds = 3", "seeds = true", "seeds must be a whole number"),
        ("runs = 300", "runs = 0", "runs must be at least 1"),
        ("seeds = 3", "seeds 3", "is no TOML"),
        ('worlds = ["paper", "gao-rl:sigma=0.05"]', 'worlds = "paper"', "a list of texts"),
        ('worlds = ["paper", "gao-rl:sigma=0.05"]', "worlds = []", "worlds is missing"),
        ('"paper"', '"papr"', "no world 'papr', did you mean 'paper'"),
        ('"drawdown"', '"drawdwn"', "no detector 'drawdwn', did you mean 'drawdown'"),
        ('"drawdown"', '"my.py:Rule"', "only when named on the command line"),
        ('"drawdown"', '"drawdown @ natural"', "drawdown has no threshold natural"),
        ('"drawdown"', '"drawdown @ matchd"', "did you mean 'matched'"),
        ('"drawdown"', "7", "must be a text"),
        ("sigma = [", "sgma = [", "no part has a setting 'sgma', did you mean 'sigma'"),
        ("sigma = [", "thing.sigma = [", "no part 'thing'"),
        ("sigma = [", "detector.kk = [", "no part has a setting 'detector.kk', did you mean 'k'"),
        ("sigma = [0.02, 0.04]", "sigma = [-1]", "sigma must be at least 0"),
        ("sigma = [0.02, 0.04]", 'sigma = ["a"]', "sigma must be of type float"),
        ("sigma = [0.02, 0.04]", "sigma = [0.02, 0.020]", "axis sigma has 0.02 twice"),
        ("seeds = 3", "seeds = 1000000", "seeds must be at most 100000"),
        ("runs = 300", "runs = 999999999999999999999999", "runs must be at most 1e.08"),
        ("sigma = [0.02, 0.04]", "sigma = []", "axis sigma has no values"),
        ("sigma = [0.02, 0.04]", "sigma = [2020-01-01]", "must hold numbers, texts or lists"),
        ("sigma = [0.02, 0.04]", "peak = [[0.2, 0.4]]", "gao-rl has no setting 'peak'"),
        ('"saved"', '"svaed"', "no score 'svaed', did you mean 'saved'"),
        ('name = "mine"', 'name = "../mine"', "letters, digits"),
    ],
)
def test_a_wrong_study_gets_one_clear_line(tmp_path, old, new, match):
    assert MINE.count(old) == 1
    with pytest.raises(UserError, match=match) as told:
        place(read_study(written(tmp_path, MINE.replace(old, new))), 0)
    assert "\n" not in str(told.value)


def test_files_that_are_not_there_or_no_text(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_study(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="is no TOML"):
        read_study(tmp_path / "bad.toml")


def test_a_mark_at_the_start_of_a_file_is_no_key(tmp_path, mine):
    (tmp_path / "marked.toml").write_text(MINE, "utf-8-sig")
    assert read_study(tmp_path / "marked.toml") == mine


def test_a_world_or_scheduler_that_is_named_twice_counts_once(mine):
    once = place(replace(mine, worlds=("paper",), schedulers=("fifo",), scores=()), 0)
    twice = replace(mine, worlds=("paper", "paper:n=8"), schedulers=("fifo", "fifo"), scores=())
    assert [(p.point, p.cell.id) for p in place(twice, 0)] == [(p.point, p.cell.id) for p in once]


def test_the_grid(mine):
    placed = place(mine, 7)
    assert {p.point for p in placed} == set(range(2 * 2 * 1 * 2))
    contenders = [(p.labels["detector"], p.labels["threshold"]) for p in placed]
    assert set(contenders) == {
        ("k-decline", "natural"),
        ("k-decline", "matched:fpr=0.05"),
        ("drawdown", "matched:fpr=0.05"),
        ("k-decline:k=4", "natural"),
    }
    assert len(placed) == 8 * 4 * 3
    for p in placed:
        world = p.cell.workload.world
        assert (world.sigma, world.hacking) == (p.labels["sigma"], 0.5)
        if p.labels["detector"] == "k-decline":
            assert p.cell.contender.detector.k == p.labels["detector.k"]
        if p.labels["detector"] == "k-decline:k=4":
            assert p.cell.contender.detector.k == 4
        assert p.cell.seed == 7
    # A rule without the field of an axis is the same cell all along it.
    along = {p.cell.id for p in placed if p.labels["detector"] == "drawdown"}
    assert len(along) == 2 * 2 * 3
    same_runs = {p.cell.stream for p in placed}
    assert len(same_runs) == 2 * 2 * 3


def test_an_axis_belongs_to_the_first_part_that_has_it_unless_told():
    study = Study("s", ("paper",), ("cusum",), thresholds=("matched",), axes={"sigma": (0.5,)})
    (cell, *_) = (p.cell for p in place(study, 0))
    assert (cell.workload.world.sigma, cell.contender.detector.sigma) == (0.5, None)
    study = Study("s", ("paper",), ("cusum",), thresholds=("matched",), axes={"fpr": (0.2,)})
    assert place(study, 0)[0].cell.contender.threshold.fpr == 0.2
    study = Study(
        "s", ("paper",), ("cusum",), thresholds=("matched",), axes={"detector.sigma": (0.5,)}
    )
    (cell, *_) = (p.cell for p in place(study, 0))
    assert (cell.workload.world.sigma, cell.contender.detector.sigma) == (0.03, 0.5)
    study = Study("s", ("paper",), ("never",), axes={"rlhf_share": (0.3,), "peak": ((0.2, 0.3),)})
    (cell, *_) = (p.cell for p in place(study, 0))
    assert (cell.workload.jobs.rlhf_share, cell.workload.world.peak) == (0.3, (0.2, 0.3))


def frame(values, **columns):
    """Make results of contenders a, b, ... over repetitions."""
    rows = [
        {"point": point, "x": 10 * point, "contender": name, "repeat": i, "score": v, **columns}
        for (point, name), series in values.items()
        for i, v in enumerate(series)
    ]
    return pd.DataFrame(rows)


def test_means_and_intervals_over_repetitions():
    rng = np.random.default_rng(0)
    values = {(p, c): rng.normal(p, 1, 50) for p in (1, 0) for c in "ba"}
    told = summarize(frame(values), ["x", "contender"], ["score"])
    assert list(zip(told["x"], told["contender"], strict=True)) == [
        (10, "b"),
        (10, "a"),
        (0, "b"),
        (0, "a"),
    ]
    for row, series in zip(told.itertuples(), values.values(), strict=True):
        assert row.score == pytest.approx(series.mean())
        half = 1.96 * series.std() / np.sqrt(50)
        assert row.score_high - row.score == pytest.approx(half, rel=0.15)
        assert row.score - row.score_low == pytest.approx(half, rel=0.15)


def test_a_score_that_is_missing_counts_for_nothing():
    told = summarize(
        frame({(0, "a"): [1, np.nan, 3, np.nan], (0, "b"): [np.nan] * 4}), ["contender"], ["score"]
    )
    assert told["score"][0] == 2
    assert 1 <= told["score_low"][0] <= told["score_high"][0] <= 3
    assert told.loc[1, ["score", "score_low", "score_high"]].isna().all()


def test_differences_are_paired():
    rng = np.random.default_rng(1)
    shared = rng.normal(0, 10, 30)
    values = {(p, c): shared + p + (c == "b") for p in (0, 1) for c in "ab"}
    differences = against(frame(values), {"contender": "a"}, ["score"])
    gains = summarize(differences, ["x", "contender"], ["score"])
    assert gains["score"].tolist() == pytest.approx([0, 1, 0, 1])
    assert (gains["score_high"] - gains["score_low"]).max() < 1e-9
    best = leaders(frame(values), ["x"], "score", {"contender": "a"})
    assert best["contender"].tolist() == ["b", "b"]
    assert best["gain_low"].tolist() == pytest.approx([1, 1])


def test_results_are_the_same_bytes_however_computed(tmp_path, mine):
    mine = mine.smaller(seeds=2, sigma=(0.02,))
    files = {}
    for name, jobs in (("one", 1), ("two", 2)):
        out = tmp_path / name
        analyse(run_study(mine, out, seed=3, jobs=jobs)).save(out)
        files[name] = {p.name: p.read_bytes() for p in sorted(out.iterdir()) if p.is_file()}
    assert files["one"] == files["two"]
    assert {"results.csv", "results.parquet", "study.json", "saved.svg"} <= set(files["one"])
    table = pd.read_parquet(tmp_path / "one" / "results.parquet")
    assert len(table) == 4 * 4 * 2
    pd.testing.assert_frame_equal(table, pd.read_csv(tmp_path / "one" / "results.csv"))
    told = json.loads(files["one"]["study.json"])
    assert (told["seed"], told["cells"], told["study"]["name"]) == (3, 32, "mine")
    assert set(told["versions"]) >= {"evalstop", "numpy", "python"}


def test_a_point_has_its_own_table_and_the_cells_of_the_whole(tmp_path, mine):
    mine = mine.smaller(seeds=2)
    whole = run_study(mine, tmp_path)
    counts = []
    part = run_study(mine, tmp_path, point=3, advance=lambda done, total: counts.append(done))
    assert counts == [8]  # all there at once
    same = whole.frame[whole.frame["point"] == 3].reset_index(drop=True)
    pd.testing.assert_frame_equal(part.frame, same)
    assert (tmp_path / "3" / "results.csv").is_file()
    with pytest.raises(UserError, match="mine/8: there is no such point, they go from 0 to 7"):
        run_study(mine, tmp_path, point=8)


@pytest.mark.parametrize("name", NAMED)
def test_named_studies_say_something(tmp_path, name):
    named = NAMED[name]
    quick = replace(named.smoke, seeds=2, runs=600)
    results = run_study(quick, tmp_path)
    analysis = named.analyse(results)
    assert analysis.findings
    assert all(finding and "nan" not in finding for finding in analysis.findings)
    assert analysis.tables
    files = analysis.save(tmp_path)
    assert any(file.endswith(".svg") for file in files)
    assert all((tmp_path / file).stat().st_size for file in files)
    for table in analysis.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.parametrize("name", NAMED)
def test_a_first_look_is_a_part_of_the_whole(name):
    named = NAMED[name]
    assert named.study.name == name
    assert named.study.question.endswith("?")
    whole, part = ({p.cell.id for p in place(s, 0)} for s in (named.study, named.smoke))
    assert part < whole
    assert len(part) < 700
