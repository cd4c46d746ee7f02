"""Exact false-alarm probabilities against independent values, enumeration and simulation."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Runs, false_alarm_probability, first_alarm, k_for, scan
from evalstop.detectors.counting import EXACT_UP_TO, RULES, false_alarm_rate
from evalstop.errors import UserError

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
FIELD = {"k-decline": "k", "patience": "evals"}


def rule_of(rule, k):
    return DETECTORS.build(f"{rule}:{FIELD[rule]}={k}")


@pytest.mark.parametrize(
    ("key", "rule"), [("k_decline", "k-decline"), ("patience_no_new_best", "patience")]
)
def test_exact_fractions_agree_with_the_golden_values(key, rule):
    golden = json.loads((GOLDEN / "kdecline_null.json").read_text())["data"][key]
    for k, values in golden.items():
        for n, fraction in values["p_alarm_by_n"].items():
            assert false_alarm_probability(int(k), int(n), rule) == Fraction(fraction)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_counting_equals_enumeration_through_the_detector(rule, k):
    orders = np.array(list(itertools.permutations(range(6))), dtype=float)
    alarms = first_alarm(scan(rule_of(rule, k), Runs(orders)), k)
    for n in range(1, 7):
        stopped = np.count_nonzero((alarms >= 0) & (alarms < n))
        assert Fraction(stopped, len(orders)) == false_alarm_probability(k, n, rule)


@given(st.integers(1, 6), st.integers(0, 40), st.sampled_from(RULES))
def test_more_evals_alarm_more_and_larger_k_less(k, n, rule):
    p = false_alarm_probability(k, n, rule)
    assert 0 <= p <= false_alarm_probability(k, n + 1, rule) <= 1
    assert false_alarm_probability(k + 1, n, rule) <= p


@given(st.floats(0, 1), st.integers(1, 40), st.sampled_from(RULES))
def test_k_for_is_the_smallest_that_keeps_the_budget(alpha, n, rule):
    k = k_for(alpha, n, rule)
    assert false_alarm_probability(k, n, rule) <= alpha
    assert k == 1 or false_alarm_probability(k - 1, n, rule) > alpha


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_the_rate_of_long_runs_agrees_with_exact_counting(rule, k):
    n = EXACT_UP_TO + 20
    exact = float(false_alarm_probability(k, n, rule))
    assert false_alarm_rate(k, n, rule) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_k_for_thousands_of_evals_is_the_smallest_that_keeps_the_budget(rule):
    k = k_for(0.05, 5000, rule)
    assert false_alarm_rate(k, 5000, rule) <= 0.05 < false_alarm_rate(k - 1, 5000, rule)


def test_alarms_on_noisy_curves_agree_with_exact_integration():
    cases = json.loads((GOLDEN / "kdecline_curves.json").read_text())["data"]
    rng = np.random.default_rng(20261130)
    n_runs = 40_000
    for case in cases:
        scores = case["mean"] + case["sigma"] * rng.standard_normal((n_runs, case["n"]))
        alarms = first_alarm(scan(rule_of("k-decline", case["k"]), Runs(scores)), case["k"])
        exact = np.array(case["p_alarm_by"])
        seen = np.array([np.mean((alarms >= 0) & (alarms < n)) for n in range(1, case["n"] + 1)])
        error = np.sqrt(np.maximum(exact * (1 - exact), 1 / n_runs) / n_runs)
        assert np.all(np.abs(seen - exact) <= 5 * error)


def test_both_forms_of_k_decline_give_the_same_natural_alarms():
    scores = np.round(np.random.default_rng(1).standard_normal((500, 15)), 1)  # many ties
    for k in (1, 2, 3, 4):
        forms = [DETECTORS.build(f"k-decline:k={k},form={f}") for f in ("integer", "tolerance")]
        first, second = (first_alarm(scan(r, Runs(scores)), r.natural_threshold) for r in forms)
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("k", "n", "rule", "match"),
    [(0, 5, "k-decline", "k must be at least 1"), (2, 5, "k-declin", "did you mean 'k-decline'")],
)
def test_bad_questions_are_refused(k, n, rule, match):
    with pytest.raises(UserError, match=match):
        false_alarm_probability(k, n, rule)
    with pytest.raises(UserError, match="between 0 and 1"):
        k_for(1.5, 5)
