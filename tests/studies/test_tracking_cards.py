"""What tracking shows of results: which runs, which numbers at which steps, in which words."""

import json
import shutil

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import ROC, made_results

from evalstop.errors import UserError
from evalstop.studies.results import run_study, write_results
from evalstop.studies.study import Study
from evalstop.studies.tracking.cards import best_first, point_cards, top_cards
from evalstop.studies.tracking.folder import read_folder, results_folders
from evalstop.studies.tracking.store import artifact_folder, hide_passwords, shown, tracking_uri
from evalstop.studies.tracking.sweeps import MOST_KEYS
from evalstop.studies.tracking.views import colour


def steps_of(card, key):
    return {v.step: v.value for v in card.values if v.key == key}


def test_one_card_for_each_contender_with_its_curves(tmp_path):
    frame = made_results(tmp_path, thresholds=("natural", "like"))
    cards = top_cards(read_folder(tmp_path))
    assert [c.name for c in cards][:3] == [
        "k-decline @ natural",
        "k-decline @ like",
        "drawdown @ natural",
    ]
    assert len(cards) == 6
    rows = frame[(frame["detector"] == "drawdown") & (frame["threshold"] == "natural")]
    card = cards[2]
    for column, permille in zip(ROC, (1, 15, 500), strict=True):
        told = steps_of(card, "roc/tpr_at_fpr_permille")[permille]
        assert told == pytest.approx(rows[column].mean(), rel=1e-5)
    for sigma, step in ((0.01, 10), (0.12, 120)):
        told = steps_of(card, "noise/saved_at_sigma_permille")[step]
        assert told == pytest.approx(rows[rows["sigma"] == sigma]["saved"].mean(), rel=1e-5)
    assert steps_of(card, "summary/auc")[0] == pytest.approx(rows["auc"].mean(), rel=1e-5)
    assert "drawdown @ natural in the study made: Is it tracked?" in card.note
    assert "noise: the step is 1000 x sigma." in card.note
    assert "Means over 4 cells at 2 points" in card.note


def test_a_curve_is_of_the_same_places_all_along(tmp_path):
    at = [("easy", 0.01, 0.4), ("easy", 0.05, 0.6), ("hard", 0.02, 0.1), ("hard", 0.05, 0.2)]
    at += [("easy", 0.02, 0.5), ("lone", 0.05, 0.9)]
    rows = pd.DataFrame(at, columns=["board", "fpr", "saved"])
    rows = rows[["board", "fpr"]].assign(detector="mine", threshold="own", saved=rows["saved"])
    rows = pd.concat([rows, rows.assign(detector="other")], ignore_index=True)
    rows.insert(0, "point", rows.groupby("detector").cumcount())
    rows.insert(5, "repeat", 0)
    rows["cell"] = [str(i) for i in range(len(rows))]
    told = {"study": {"name": "made", "question": "Same places?"}, "shown": ["saved"], "seed": 0}
    write_results(tmp_path, told, rows)
    card = top_cards(read_folder(tmp_path))[0]
    assert steps_of(card, "fpr/saved_at_fpr_permille") == {10: 0.4, 20: 0.5, 50: 0.6}


def test_settings_are_params_and_origins_are_tags(tmp_path):
    made_results(tmp_path, seed=7)
    cards = {card.name: card for card in top_cards(read_folder(tmp_path))}
    card = cards["ewma-drawdown:weight=0.7"]
    assert card.params["weight"] == "0.7"
    assert card.params["sigma"] == "0.01, 0.12"
    assert cards["k-decline"].params["k"] == "2"
    assert card.tags["world"] == "paper"
    assert card.tags["seed"] == "7"
    assert {"schema", "numpy", "evalstop", "python", "study"} <= set(card.tags)


def test_points_hang_below_their_contender(tmp_path):
    """A child run is a point of the grid: the mean of its repetitions."""
    frame = made_results(tmp_path)
    points = list(point_cards(read_folder(tmp_path)))
    names = ("k-decline", "drawdown", "ewma-drawdown:weight=0.7")
    assert [parent for parent, _ in points] == [name for name in names for _ in (0.01, 0.12)]
    for (parent, card), sigma in zip(points, (0.01, 0.12) * 3, strict=True):
        rows = frame[(frame["detector"] == parent) & (frame["sigma"] == sigma)]
        assert len(rows) == 2
        assert card.key == rows["cell"].iloc[0]
        assert card.name == f"sigma={sigma:g}"
        assert card.params == {"sigma": f"{sigma:g}", "repetitions": "2"}
        assert "mean over 2 repetitions" in card.note
        assert steps_of(card, "summary/saved")[0] == pytest.approx(rows["saved"].mean())


def test_an_axis_of_the_detector_itself(tmp_path):
    """A contender that the axis does not concern has the same cells all along it."""
    study = Study(
        name="ks",
        worlds=("paper",),
        detectors=("k-decline @ natural", "drawdown @ matched:fpr=0.05"),
        axes={"detector.k": (1, 2, 3)},
        scores=("saved",),
        seeds=2,
        runs=200,
    )
    run_study(study, tmp_path)
    folder = read_folder(tmp_path)
    k, rival = top_cards(folder)
    assert set(steps_of(k, "k/saved_at_k")) == {1, 2, 3}
    assert len(set(steps_of(rival, "k/saved_at_k").values())) == 1
    assert k.params["detector.k"] == "1, 2, 3"
    assert "k" not in k.params  # it has no one value
    points = [card for _, card in point_cards(folder)]
    assert len(points) == 3 + 1
    assert len({card.key for card in points}) == len(points)
    assert points[-1].params == {"repetitions": "2"}


def test_words_are_bars_of_the_score_that_matters_most(tmp_path):
    made_results(tmp_path, labels={"scheduler": ("fifo", "srtf-est:overrun=floor")}, axes={})
    card = top_cards(read_folder(tmp_path))[0]
    assert {v.key for v in card.values if v.key.startswith(("saved/", "recall/"))} == {
        "saved/fifo",
        "saved/srtf-est:overrun_floor",
    }


def test_a_lone_contender_is_split_by_what_it_was_tried_on(tmp_path):
    worlds = ("paper", "gao-rl", "cliff")
    made_results(tmp_path, detectors=("k-decline",), labels={"world": worlds})
    assert [card.name for card in top_cards(read_folder(tmp_path))] == list(worlds)


def test_a_single_point_is_its_own_run(tmp_path):
    made_results(tmp_path, axes={}, repeats=3)
    folder = read_folder(tmp_path)
    assert len(top_cards(folder)) == 3
    assert not list(point_cards(folder))


numbers = st.floats(-100, 100).map(lambda x: round(x, 3))


@settings(max_examples=20)
@given(
    st.tuples(st.integers(1, 30), st.integers(1, 3)),
    st.lists(st.lists(numbers, min_size=1, max_size=4, unique=True), max_size=2),
)
def test_never_more_charts_than_can_be_seen(tmp_path_factory, words, axes):
    folder = tmp_path_factory.mktemp("made")
    made_results(
        folder,
        detectors=("k-decline", "drawdown"),
        labels={f"word{i}": tuple(f"w{i}-{j}" for j in range(n)) for i, n in enumerate(words)},
        axes={f"axis{i}": tuple(values) for i, values in enumerate(axes)},
        repeats=1,
    )
    folder = read_folder(folder)
    cards = top_cards(folder)
    keys = {v.key for card in cards for v in card.values}
    assert len(keys) <= MOST_KEYS
    for i, values in enumerate(axes):
        if len(values) > 1:  # every value has a step of its own
            told = {v.step for v in cards[0].values if v.key.startswith(f"axis{i}/")}
            assert len(told) == len(values)
    assert {v.key for _, card in point_cards(folder) for v in card.values} <= keys


def test_a_point_of_a_study_has_its_number(tmp_path):
    made_results(tmp_path / "noise" / "3", axes={"sigma": (0.01,)}, name="noise")
    table = tmp_path / "noise" / "3" / "results.parquet"
    frame = pd.read_parquet(table).assign(point=3)
    frame.to_parquet(table)
    assert read_folder(table.parent).name == "noise/3"


def test_an_id_is_that_of_the_numbers(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        made_results(tmp_path / name, seed=seed)
    ids = [read_folder(tmp_path / name).id for name in "abc"]
    assert ids[0] == ids[1] != ids[2]


def test_the_report_of_all_studies_goes_with_each(tmp_path):
    made_results(tmp_path / "noise")
    (tmp_path / "noise" / "report.html").unlink()
    (tmp_path / "report.html").write_text("all")
    files = read_folder(tmp_path / "noise").artifacts()
    assert [f.name for f in files] == [
        "findings.txt",
        "results.parquet",
        "saved.svg",
        "report.html",
    ]
    assert files[-1].read_text() == "all"


def test_lower_is_better_for_some(tmp_path):
    made_results(tmp_path)
    assert best_first(read_folder(tmp_path)) == ("summary/saved", False)
    told = json.loads((tmp_path / "study.json").read_text())
    write_results(
        tmp_path, told | {"shown": ["fpr_healthy"]}, pd.read_parquet(tmp_path / "results.parquet")
    )
    assert best_first(read_folder(tmp_path)) == ("summary/fpr_healthy", True)


def test_the_best_of_many_come_first(tmp_path):
    """MLflow draws ten runs unless one clicks."""
    rules = tuple(f"k-decline:k={k}" for k in range(1, 13))
    made_results(tmp_path, detectors=rules)
    folder = read_folder(tmp_path)
    saved = [steps_of(card, "summary/saved")[0] for card in top_cards(folder)]
    assert saved == sorted(saved, reverse=True)
    means = folder.frame.groupby("detector")["saved"].mean()
    assert saved == pytest.approx(sorted(means, reverse=True), rel=1e-5)

    table = tmp_path / "results.parquet"
    frame = pd.read_parquet(table)
    best = means.idxmax()
    frame.assign(saved=frame["saved"].where(frame["detector"] != best)).to_parquet(table)
    assert top_cards(read_folder(tmp_path))[-1].name == best  # what has no number comes last


def test_a_long_axis_is_a_short_parameter(tmp_path):
    """MLflow refuses a parameter of more than 6,000 characters."""
    made_results(tmp_path, axes={"trial": tuple(range(3000))}, detectors=("k-decline",), repeats=1)
    card = top_cards(read_folder(tmp_path))[0]
    assert card.params["trial"] == "0, 1, 2 ... 2999 (3000 values)"
    assert len(steps_of(card, "trial/saved_at_trial")) == 3000


def test_results_folders_are_found_at_any_depth(tmp_path):
    for name in ("noise", "all/k", "all/k/3"):
        made_results(tmp_path / name)
    (tmp_path / "noise" / "cells").mkdir()
    shutil.copytree(tmp_path / "all" / "k" / "3", tmp_path / "noise" / "cells" / "no")
    found = [str(f.relative_to(tmp_path)) for f in results_folders(tmp_path)]
    assert found == ["all/k", "all/k/3", "noise"]
    assert list(results_folders(tmp_path / "noise")) == [tmp_path / "noise"]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: (f / "study.json").unlink(), "has no study.json and results.parquet"),
        (lambda f: (f / "results.parquet").unlink(), "has no study.json and results.parquet"),
        (lambda f: (f / "results.parquet").write_bytes(b"PAR1"), "is damaged"),
        (lambda f: (f / "study.json").write_text("{"), "is damaged"),
        (lambda f: (f / "study.json").write_text("[]"), "is damaged"),
        (lambda f: (f / "study.json").write_text('{"study": {}, "seed": 1}'), "is damaged"),
    ],
)
def test_a_damaged_folder_is_one_line(tmp_path, spoil, says):
    made_results(tmp_path)
    spoil(tmp_path)
    with pytest.raises(UserError, match=says) as told:
        read_folder(tmp_path)
    assert "\n" not in str(told.value)


def test_a_folder_without_results(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(UserError, match="there are no results here"):
            results_folders(path)


def test_passwords_are_never_shown():
    uri = "postgresql+psycopg2://me:se:cret@host:5432/db"
    assert hide_passwords(uri) == shown(uri) == "postgresql+psycopg2://me:***@host:5432/db"


def test_the_store_is_that_of_the_project_or_of_mlflow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri() == f"sqlite:///{tmp_path}/evalstop-out/mlflow.db"
    assert shown(tracking_uri()) == "evalstop-out/mlflow.db"
    assert artifact_folder(tracking_uri()) == tmp_path / "evalstop-out" / "mlflow-artifacts"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://somewhere:5000")
    assert tracking_uri() == "http://somewhere:5000"
    assert artifact_folder(tracking_uri()) is None


def test_colours_differ():
    assert len({colour(i) for i in range(16)}) == 16
