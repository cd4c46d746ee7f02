"""Detection cells: the published table of detectors, realised rates, runs that are shared."""

import json
from pathlib import Path

import numpy as np
import pytest

from evalstop.detectors import DETECTORS
from evalstop.errors import UserError
from evalstop.simulator.worlds import build_world
from evalstop.studies.cell import Cell, compute
from evalstop.studies.detection import DETECTION, Detection, Jobs, Judged
from evalstop.studies.thresholds import THRESHOLDS

GOLDEN = json.loads((Path(__file__).parents[1] / "data/golden/paper_preset.json").read_text())
TABLE = GOLDEN["detector_population_table_20k"]
COUNTED, BEFORE = "matched:among=all", "matched:among=all,last=false"
ROWS = {
    ("k-decline", "natural"): "k2 raw | counted",
    ("k-decline:form=tolerance", BEFORE): "k2 tolerance | before-last",
    ("drawdown", COUNTED): "drop from best | counted",
    ("drawdown", BEFORE): "drop from best | before-last",
    ("ewma-drawdown", COUNTED): "EWMA(.5) drawdown | counted",
    ("slope-glr", COUNTED): "slope-GLR (self) | counted",
    ("unimodal-glr:sigma=0.03", COUNTED): "GLR iso | counted",
    ("unimodal-glr:sigma=0.03", BEFORE): "GLR iso | before-last",
    ("gao-fit", COUNTED): "Gao fit | counted",
}


def measure(*contenders, world="paper", runs=4000, rlhf_share=0.8, repeat=0):
    """Give the numbers of contenders (detector, threshold) on one workload."""
    workload = Detection(build_world(world), Jobs(runs, rlhf_share))
    cells = [
        Cell(workload, Judged(DETECTORS.build(d), THRESHOLDS.build(t)), 0, repeat)
        for d, t in contenders
    ]
    return compute(cells)


@pytest.fixture(scope="module")
def measured():
    return dict(zip(ROWS, measure(*ROWS, runs=60_000), strict=True))


@pytest.mark.parametrize("contender", ROWS, ids=" @ ".join)
def test_the_published_table_of_detectors(measured, contender):
    ours, golden = measured[contender], TABLE[ROWS[contender]]
    # Thresholds come from an order statistic of some hundred false alarms: they move the scores.
    assert ours["fpr_all"] == pytest.approx(golden["fpr"], abs=0.003)
    assert ours["recall"] == pytest.approx(golden["rec"], abs=0.02)
    assert ours["recall_before_last"] == pytest.approx(golden["before_last"], abs=0.02)
    assert ours["saved_any"] == pytest.approx(golden["W1"], abs=0.012)


@pytest.mark.parametrize("world", ["paper", "gao-rl:sigma=0.06", "plateau", "real-noise"])
@pytest.mark.parametrize("last", ["true", "false"])
def test_a_matched_rate_is_kept_on_fresh_runs(world, last):
    rules = ("drawdown", "slope-glr", "k-decline:form=tolerance")
    threshold = f"matched:fpr=0.05,last={last}"
    numbers = [measure(*((r, threshold) for r in rules), world=world, repeat=i) for i in range(8)]
    rates = np.mean([[n["fpr_healthy"] for n in each] for each in numbers], axis=0)
    n = 8 * 4000 * 0.8 * 0.4
    assert (rates < 0.05 + 4 * np.sqrt(0.05 / n) * np.sqrt(1.4)).all()
    assert (rates[:2] > 0.04).all()


def test_like_stops_as_many_healthy_runs_as_the_other_rule():
    for world, k in (("paper:sigma=0.08", 2), ("paper:n=30", 3), ("plateau", 2)):
        k_rule, drawdown = measure(
            (f"k-decline:k={k}", "natural"),
            ("ewma-drawdown", f"like:rule=k-decline:k={k}"),
            world=world,
            runs=20_000,
        )
        assert drawdown["fpr_healthy"] == pytest.approx(k_rule["fpr_healthy"], rel=0.12)


def test_like_a_rule_that_never_errs_is_strict():
    (numbers,) = measure(("ewma-drawdown", "like"), world="paper:sigma=0.001")
    assert numbers["fpr_healthy"] < 0.004


def test_an_alarm_at_the_last_eval_may_count_for_nothing():
    counted, not_counted = measure(
        ("k-decline", "natural"), ("k-decline", "natural:last=false"), world="paper:sigma=0.05"
    )
    assert counted["last_only"] > 0.3
    assert not_counted["last_only"] == 0
    assert not_counted["recall"] == not_counted["recall_before_last"]
    assert counted["recall_before_last"] == not_counted["recall"]
    assert not_counted["fpr_healthy"] < counted["fpr_healthy"]


def test_only_rlhf_jobs_are_stopped():
    all_rlhf, few = (
        measure(("always", "natural"), rlhf_share=1.0),
        measure(("always", "natural"), rlhf_share=0.25),
    )
    assert all_rlhf[0]["fpr_all"] == 1
    assert few[0]["fpr_healthy"] == 1
    assert few[0]["fpr_all"] == pytest.approx(0.25 * 0.4 / (1 - 0.25 * 0.6), abs=0.03)
    assert few[0]["recall"] == 1


def test_a_rule_that_ranks_nothing_has_no_roc():
    never, k2 = measure(("never", "natural"), ("k-decline", "natural"))
    assert np.isnan([never["auc"], never["pauc_05"], never["tpr_at_fpr_010"]]).all()
    assert k2["auc"] > 0.95
    roc = [value for name, value in k2.items() if name.startswith("tpr_at_fpr_")]
    assert roc == sorted(roc)
    assert never["threshold_value"] == np.inf


def test_a_cell_has_exactly_the_scores_of_its_kind():
    (numbers,) = measure(("k-decline", "natural"))
    assert set(numbers) == set(DETECTION.scores)
    assert set(DETECTION.shown) < set(DETECTION.scores)


def test_worlds_without_healthy_or_without_hacking_runs():
    few = measure(("drawdown", "matched"), ("k-decline", "natural"), world="paper:hacking=1")
    assert all(np.isnan(n["fpr_healthy"]) and n["recall"] > 0.9 for n in few)
    none = measure(("drawdown", "matched"), ("k-decline", "natural"), world="paper:hacking=0")
    assert all(np.isnan(n["recall"]) and n["fpr_healthy"] < 0.05 for n in none)
    with pytest.raises(UserError, match="take a smaller fpr or among=healthy"):
        measure(("drawdown", "matched:among=all"), world="paper:hacking=1")


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("matchd", "no threshold 'matchd', did you mean 'matched'"),
        ("matched:fpr=2", "fpr must be at most"),
        ("matched:among=few", "among must be one of healthy, all"),
        ("like:rule=k-declin", "did you mean 'k-decline'"),
        ("like:rule=drawdown", "drawdown has no natural threshold"),
        ("like:rule=x.py:Rule", "only when named on the command line"),
    ],
)
def test_bad_thresholds_get_one_clear_line(spec, match):
    with pytest.raises(UserError, match=match):
        THRESHOLDS.build(spec)
