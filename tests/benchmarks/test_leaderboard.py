import math
from dataclasses import replace

import numpy as np
import pytest
from made_curves import curve, labelled, made_up

from evalstop.benchmarks.labelled import label_curves, labels_in_column
from evalstop.benchmarks.leaderboard import Row, compare
from evalstop.benchmarks.matched import matched_threshold
from evalstop.detectors import DETECTORS, scan
from evalstop.detectors.logs import read_logs
from evalstop.detectors.logs.eval_runs import eval_runs
from evalstop.detectors.settings import split_specs
from evalstop.errors import UserError

SPECS = "k-decline:k=2,k-decline:k=3,k-decline:form=tolerance,patience,drawdown,ewma-drawdown"
CURVES = made_up()


def rules(specs=SPECS):
    return [DETECTORS.build(spec) for spec in split_specs(specs)]


def table(curves, specs=SPECS, **options):
    return compare(labelled(curves), rules(specs), **options).rows


BASE = compare(labelled(CURVES), rules())


def of(rows, detector, rule):
    return [r for r in rows if (r.detector, r.rule) == (detector, rule)]


def test_the_columns_are_those_that_were_promised():
    told = (
        "detector settings rule threshold tp fp fn tn ambiguous precision precision_low "
        "precision_high recall recall_low recall_high fpr fpr_low fpr_high delay_median_est "
        "premature_est saved_est regret_est pauc_05"
    )
    assert list(Row._fields) == told.split()


def test_natural_and_matched_rows_and_the_two_references():
    found = [(r.detector, r.settings, r.rule) for r in BASE.rows]
    assert found == [
        ("k-decline", "k=2,form=integer", "natural"),
        ("k-decline", "k=2,form=integer", "matched"),
        ("k-decline", "k=3,form=integer", "natural"),
        ("k-decline", "k=3,form=integer", "matched"),
        ("k-decline", "k=2,form=tolerance", "natural"),
        ("k-decline", "k=2,form=tolerance", "matched"),
        ("patience", "evals=3", "natural"),
        ("patience", "evals=3", "matched"),
        ("drawdown", "", "matched"),
        ("ewma-drawdown", "weight=0.5", "matched"),
        ("never", "", "natural"),
        ("always", "", "natural"),
    ]


def test_counts_add_up_and_rates_lie_in_their_intervals():
    positives = sum(c.labels["label"] == "declined" for c in CURVES)
    left_out = sum(c.labels["label"] == "ambiguous" for c in CURVES)
    for row in BASE.rows:
        assert row.tp + row.fn == positives
        assert row.fp + row.tn == len(CURVES) - positives - left_out
        assert row.ambiguous == left_out
        for name in ("precision", "recall", "fpr"):
            value, low, high = (getattr(row, name + end) for end in ("", "_low", "_high"))
            assert low <= value <= high or (name == "precision" and row.tp + row.fp == 0)


def test_never_and_always_are_what_they_say():
    never, always = BASE.rows[-2:]
    assert (never.tp, never.fp, never.saved_est) == (0, 0, 0)
    assert math.isnan(never.precision)
    assert (always.fn, always.tn, always.recall, always.fpr) == (0, 0, 1, 1)
    assert math.isnan(never.pauc_05)
    assert math.isnan(always.pauc_05)


def test_forms_of_one_rule_agree_at_their_natural_thresholds():
    two, _, tolerance = of(BASE.rows, "k-decline", "natural")
    assert two[4:-1] == tolerance[4:-1]


def test_detectors_with_one_statistic_share_their_curves():
    two, three, tolerance, *_ = BASE.entries
    assert (two.same_as, three.same_as, tolerance.same_as) == (None, two.spec, None)
    np.testing.assert_array_equal(two.matched.alarms, three.matched.alarms)


def test_a_matched_threshold_comes_from_the_other_runs():
    told, entry = BASE.labelled, next(e for e in BASE.entries if e.spec == "drawdown")
    statistics = scan(DETECTORS.build("drawdown"), told.runs)
    largest, negative = statistics.max(axis=1), ~told.population.hacking
    for i in range(len(told)):
        others = negative & (told.groups != told.groups[i])
        assert (entry.matched.alarms[i] >= 0) == (
            largest[i] >= matched_threshold(largest[others], BASE.fpr)
        )
    assert entry.matched.row.threshold == matched_threshold(largest[negative], BASE.fpr)


def test_matched_rules_keep_near_to_their_rate():
    rows = table(CURVES, fpr=0.1)
    assert all(r.fpr <= 0.14 for r in rows if r.rule == "matched")


def test_a_rate_that_needs_more_runs_is_left_out_with_one_warning():
    found = compare(labelled(CURVES[:60]), rules(), fpr=0.015)
    assert {r.rule for r in found.rows} == {"natural"}
    (warning,) = found.warnings
    assert "needs 66 negative runs" in warning
    assert "matched rows are left out" in warning


@pytest.mark.parametrize("fpr", [0, 1, 1.5, -0.1])
def test_what_is_no_rate_is_refused(fpr):
    with pytest.raises(UserError, match="between 0 and 1"):
        table(CURVES, fpr=fpr)


def test_a_channel_that_is_lacking_costs_one_warning():
    found = compare(labelled(CURVES), rules("k-decline,loss-plateau"))
    assert found.warnings == ["loss-plateau: left out, it reads loss: not in the curves"]
    assert {r.detector for r in found.rows} == {"k-decline", "never", "always"}


def test_a_channel_that_is_lacking_is_an_error_when_nothing_is_left():
    with pytest.raises(UserError, match="loss-plateau: left out, it reads loss"):
        table(CURVES, "loss-plateau")


def test_no_detector_leaves_the_references():
    assert [r.detector for r in table(CURVES, "never")] == ["never", "always"]


def test_constant_curves_are_degenerate():
    flat = [replace(c, values=np.full_like(c.values, 0.5)) for c in CURVES]
    found = compare(labelled(flat), rules("drawdown,k-decline"))
    assert sum("degenerate" in note for note in found.notes) == 2
    assert all(math.isnan(r.pauc_05) for r in found.rows)
    assert "constant curves" in found.warnings[0]


def with_values(change):
    return [replace(c, values=change(c.values)) for c in CURVES]


def test_k_decline_does_not_know_the_unit_of_the_score():
    specs = "k-decline:k=2,k-decline:k=3,patience"
    other = table(with_values(lambda v: 4 * v + 3), specs)
    for row, expected in zip(other, table(CURVES, specs), strict=True):
        assert row[:3] == expected[:3]
        assert row[3:] == pytest.approx(expected[3:], nan_ok=True)


def test_lower_is_better_is_the_mirror_image():
    turned = [replace(c, values=-c.values, higher_is_better=False) for c in CURVES]
    np.testing.assert_equal(table(turned), BASE.rows)


def test_order_of_runs_and_of_detectors_does_not_matter():
    shuffled = [CURVES[i] for i in np.random.default_rng(3).permutation(len(CURVES))]
    np.testing.assert_equal(table(shuffled), BASE.rows)
    swapped = table(CURVES, "drawdown,k-decline:k=3")
    np.testing.assert_equal(
        of(swapped, "drawdown", "matched"), of(BASE.rows, "drawdown", "matched")
    )


def test_the_seed_moves_intervals_only():
    other = table(CURVES, seed=1)
    ends = [i for i, name in enumerate(Row._fields) if name.endswith(("_low", "_high"))]
    differs = 0
    for row, expected in zip(other, BASE.rows, strict=True):
        for i, (a, b) in enumerate(zip(row, expected, strict=True)):
            if i in ends:
                differs += a != b
            else:
                np.testing.assert_equal(a, b)
    assert differs > 0


def test_a_flipped_sign_breaks_the_detector():
    upside_down = table(with_values(lambda v: -v), "ewma-drawdown")
    (right,), (wrong,) = of(BASE.rows, "ewma-drawdown", "matched"), upside_down[:1]
    assert right.pauc_05 > 0.5
    assert wrong.pauc_05 < 0.1
    assert wrong.saved_est < 0.2 * right.saved_est


def test_shuffled_labels_are_guessing():
    rng = np.random.default_rng(0)
    words = [c.labels["label"] for c in CURVES]
    found = []
    for _ in range(10):
        mixed = zip(CURVES, rng.permutation(words), strict=True)
        curves = [replace(c, labels={"label": str(word)}) for c, word in mixed]
        (row, *_) = table(curves, "ewma-drawdown")
        found.append(row.pauc_05)
    assert np.mean(found) == pytest.approx(0.025, abs=0.02)


def test_copies_of_a_metric_add_no_certainty():
    copies = [replace(c, metric=f"{c.metric}-{i}") for c in CURVES for i in range(3)]
    for row, expected in zip(table(copies), BASE.rows, strict=True):
        if expected.rule == "natural":
            assert row[9:18] == pytest.approx(expected[9:18], nan_ok=True)


def test_two_rules_of_one_name_are_refused(tmp_path):
    source = "from evalstop.detectors.zoo.drawdown import Drawdown\n\n\nclass Mine(Drawdown):\n"
    source += "    name = 'x'\n"
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(source)
    found = [DETECTORS.build(f"{tmp_path}/{n}.py:Mine", allow_path=True) for n in "ab"]
    with pytest.raises(UserError, match="x: two detectors have this name"):
        compare(labelled(CURVES), found)


# TP, FP, FN, TN on the pythia rows of the real curves, known from another program.
PYTHIA = {
    "k-decline:k=1": (19, 107, 0, 1),
    "k-decline:k=2": (17, 59, 2, 49),
    "k-decline:k=3": (10, 14, 9, 94),
    "k-decline:k=4": (4, 2, 15, 106),
    "patience:evals=3": (19, 69, 0, 39),
    "patience:evals=5": (19, 43, 0, 65),
    "patience:evals=10": (10, 20, 9, 88),
}


def test_counts_on_real_curves(shared):
    evals = eval_runs(read_logs(shared / "data" / "real_curves.csv"))
    labels = labels_in_column(evals, "shape_label")
    told = label_curves(evals, labels, select={"source": "EleutherAI/pythia"})
    found = compare(told, rules(",".join(PYTHIA)))
    assert {e.spec: e.natural.row[4:8] for e in found.entries[:7]} == PYTHIA
    assert found.rows[0].ambiguous == 10


def test_a_single_curve_of_each_kind_is_enough_for_natural_rows():
    two = [curve("a", [1, 2, 1, 0], "declined"), curve("b", [1, 2, 3, 4], "healthy")]
    row, *_ = table(two, "k-decline")
    assert (row.tp, row.fp, row.fn, row.tn) == (1, 0, 0, 1)
    assert row.precision_low < row.precision == row.precision_high == 1
