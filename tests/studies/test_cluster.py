"""Cluster studies: what is shared, what a stop is worth, and the paper's numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from evalstop.studies.cell import Cell, compute
from evalstop.studies.claims import CLAIMS, Claim, check
from evalstop.studies.grid import place
from evalstop.studies.named import NAMED
from evalstop.studies.results import run_study
from evalstop.studies.study import Study

PRESET = Path(__file__).parents[1] / "data" / "golden" / "paper_preset.json"


def study(**more):
    told = {
        "name": "test",
        "worlds": ("paper",),
        "schedulers": ("fifo-skip", "srtf-est"),
        "detectors": ("never", "k-decline", "stop-at", "oracle"),
        "thresholds": ("natural",),
        "seeds": 3,
        "runs": 150,
    }
    return Study(**{**told, **more})


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    return run_study(study(), tmp_path_factory.mktemp("study"), seed=1).frame


def test_all_contenders_meet_the_same_jobs(frame):
    base = frame.groupby(["scheduler", "repeat"])["jct_base_hours"]
    assert (base.nunique() == 1).all()
    assert frame.groupby("repeat")["post_peak_gpu_hours"].nunique().eq(1).all()
    assert frame["post_peak_gpu_hours"].nunique() == 3, "repetitions are drawn afresh"


def test_doing_nothing_gains_nothing_and_the_oracle_most_of_the_waste(frame):
    of = frame.set_index("detector")
    zero = ["jct_gain", "jct_p95_gain", "waste_cut", "gpu_time_cut", "wrongly_stopped"]
    assert (of.loc["never", zero] == 0).all(axis=None)
    oracle = of.loc["oracle"]
    assert (oracle["precision"] == 1).all()
    assert (oracle["fpr_all"] == 0).all()
    assert (oracle["waste_cut"] > of.loc["k-decline", "waste_cut"].to_numpy()).all()
    assert (of.loc["stop-at", "wrongly_stopped"] > 20).all()


def test_waste_does_not_depend_on_the_scheduler(frame):
    wide = frame.pivot_table(index=["detector", "repeat"], columns="scheduler", values="waste_cut")
    np.testing.assert_allclose(wide["fifo-skip"], wide["srtf-est"], rtol=1e-9)


def test_a_cell_is_the_same_alone_and_among_others(frame):
    placed = place(study(), seed=1)[-1]
    (alone,) = compute([placed.cell])
    row = frame[frame["cell"] == placed.cell.id].iloc[0]
    for score, value in alone.items():
        assert value == row[score] or (np.isnan(value) and np.isnan(row[score])), score


def test_what_is_done_about_an_alarm_changes_the_cell():
    cells = {
        p.cell.id for p in place(study(axes={"resubmit": ("never", "resume", "restart")}), seed=1)
    }
    assert len(cells) == 3 * 2 * 4 * 3
    assert isinstance(place(study(), 1)[0].cell, Cell)


def test_a_rule_at_a_matched_threshold_keeps_the_rate(tmp_path):
    matched = study(
        schedulers=("srtf-est",),
        detectors=("drawdown",),
        thresholds=("matched:among=all",),
        seeds=8,
        runs=500,
    )
    rate = run_study(matched, tmp_path).frame["fpr_all"]
    assert rate.mean() <= 0.015 + 4 * rate.std() / np.sqrt(len(rate))


@pytest.fixture(scope="module")
def main_results(tmp_path_factory):
    named = NAMED["main"]
    return run_study(named.smoke, tmp_path_factory.mktemp("main"), seed=2)


@pytest.mark.parametrize(
    ("score", "golden"),
    [
        ("precision", "precision"),
        ("recall", "recall"),
        ("fpr_all", "fpr_all"),
        ("fpr_healthy", "fpr_healthy_rlhf"),
        ("last_only", "tp_last_only"),
        ("waste_cut", "post_peak_waste_cut"),
    ],
)
def test_k2_detects_as_the_fitted_preset_must(main_results, score, golden):
    mean, ci95 = json.loads(PRESET.read_text())["detection_300_workloads_mean_ci95"][golden]
    rows = main_results.frame[main_results.frame["detector"] == "k-decline"][score]
    ours, error = rows.mean(), rows.std() / np.sqrt(len(rows))
    assert abs(ours - mean) <= 4 * np.hypot(error, ci95 / 1.96)


def test_the_jct_gain_on_srtf_is_that_of_the_preset(main_results):
    told = json.loads(PRESET.read_text())["system_expected_300_fresh_seeds"]["C1"]["SRTF-Est"]
    gains = main_results.frame[main_results.frame["detector"] == "k-decline"]["jct_gain"]
    error = np.hypot(gains.std() / np.sqrt(len(gains)), told["ci95"] / 1.96)
    assert abs(gains.mean() - told["gain_mean"]) <= 4 * error


def test_every_claim_has_rows_where_it_looks():
    names = {name: set(NAMED[name].study.axes) for name in NAMED}
    for claim in CLAIMS:
        known = names[claim.study] | {"contender", "scheduler"}
        assert set(claim.where) <= known, claim.what


def test_a_claim_is_judged_by_the_spread_of_one_workload(main_results):
    def verdict(low, high, why=""):
        where = {"contender": "k-decline @ natural"}
        claim = Claim("t", "w", "p", low, high, "main", "jct_gain", where, why)
        return check(claim, main_results).verdict

    gains = main_results.frame[main_results.frame["detector"] == "k-decline"]["jct_gain"]
    mean, sd = gains.mean(), gains.std()
    assert verdict(mean + 1.9 * sd, mean + 1.9 * sd) == "agrees"
    assert verdict(mean + 2.1 * sd, mean + 2.1 * sd) == "differs"
    assert verdict(mean + 2.1 * sd, 1.0, "because") == "cannot be met"
    assert verdict(-1, 1) == "agrees"
    none = Claim("t", "w", "p", 0, 1, "main", "jct_gain", {"contender": "no such rule"})
    assert check(none, main_results) is None
