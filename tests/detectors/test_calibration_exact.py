"""Thresholds and p-values by calculation, against enumeration and simulation."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Runs, false_alarm_probability, first_alarm, scan
from evalstop.detectors.calibration import (
    FlatNoise,
    FlatNull,
    NoExactTheoryError,
    best_null,
    exact,
    exact_null,
    natural_promise,
)
from evalstop.detectors.zoo.mann_kendall import MannKendall
from evalstop.errors import UserError

CHARTS = (
    "cusum:target=given,mean=0.4,sigma=0.1",
    "cusum:target=given,mean=0.4,sigma=0.1,sided=two",
    "ewma:target=given,mean=0.4,sigma=0.1",
    "ewma:target=given,mean=0.4,sigma=0.1,weight=0.2,limits=exact,sided=two",
    "shiryaev-roberts:on=levels,target=given,mean=0.4,sigma=0.1",
)


null_of = cache(lambda spec: exact_null(DETECTORS.build(spec)))


@cache
def enumerated(rule, n):
    """Largest statistic of every order of n scores."""
    orders = np.array(list(itertools.permutations(range(n))), dtype=float)
    return scan(rule, Runs(orders)).max(axis=1)


def test_the_published_cusum():
    rule = DETECTORS.build("cusum:target=given,mean=0,sigma=1,k=.5")
    found = exact(rule, 0.046568, 20)
    assert f"{found.threshold:.3f}" == "4.000"
    assert found.realised == pytest.approx(0.046568, rel=1e-9)
    assert found.interval == (found.realised, found.realised)


@pytest.mark.parametrize("name", ["k-decline", "patience"])
@given(fpr=st.floats(0.001, 0.9), n=st.integers(1, 30))
def test_the_budget_chooses_the_smallest_k(name, fpr, n):
    found = exact(DETECTORS.build(name), fpr, n)
    k = int(found.threshold)
    assert found.realised == float(false_alarm_probability(k, n, name)) <= fpr
    assert k == 1 or false_alarm_probability(k - 1, n, name) > fpr
    chosen = DETECTORS.build(found.detector)
    assert chosen.natural_threshold == k
    assert found.can_fire == (found.realised > 0)


@pytest.mark.parametrize("spec", ["k-decline", "patience", CHARTS[0], CHARTS[2], "mann-kendall"])
@given(
    rates=st.tuples(st.floats(0.01, 0.5), st.floats(0.01, 0.5)).map(sorted),
    horizons=st.tuples(st.integers(3, 8), st.integers(3, 8)).map(sorted),
)
def test_a_tighter_budget_or_a_longer_run_never_stops_more(spec, rates, horizons):
    null = null_of(spec)
    low, high = rates
    short, long = horizons
    strict = null.calibrate(low, long).threshold
    for rate, n in ((high, long), (low, short)):
        lax = null.calibrate(rate, n).threshold
        assert null.p_value(strict, n) <= null.p_value(lax, n) + 1e-9


@pytest.mark.parametrize("spec", CHARTS)
def test_charts_keep_the_budget_exactly(spec):
    rule, n_runs = DETECTORS.build(spec), 100_000
    null = exact_null(rule)
    scores = 0.4 + 0.1 * np.random.default_rng(3).standard_normal((n_runs, 12))
    statistics = scan(rule, Runs(scores))
    for fpr in (0.05, 0.015):
        found = null.calibrate(fpr, 12)
        alarms = (first_alarm(statistics, found.threshold) >= 0).mean()
        assert abs(alarms - fpr) <= 4 * np.sqrt(fpr * (1 - fpr) / n_runs)
        assert null.p_value(found.threshold, 12) == pytest.approx(fpr, rel=1e-6)
    bound = "at" if "sided=two" in spec else "never below"
    assert f"a mean {bound} 0.4, independent Gaussian noise of sd 0.1" in found.promise


def test_a_chart_that_can_hardly_fire_takes_any_threshold():
    found = exact(DETECTORS.build("cusum:target=given,sigma=1,k=3"), 0.05, 1)
    assert 0 < found.threshold < 1e-6
    assert found.realised == pytest.approx(0.00135, abs=1e-5)


@pytest.mark.parametrize("n", [3, 5, 7])
@given(fpr=st.floats(0.002, 0.95))
def test_mann_kendall_on_all_permutations(n, fpr):
    largest = enumerated(MannKendall(), n)
    found = null_of("mann-kendall").calibrate(fpr, n)
    assert found.realised == np.mean(largest >= found.threshold) <= fpr
    assert found.threshold in {*largest, np.inf}
    # The next lower level would cost more than the budget.
    lower = largest[largest < found.threshold].max()
    assert np.mean(largest >= lower) > fpr
    assert "by all permutations" in found.assumptions


def test_mann_kendall_on_random_permutations_agrees_with_all_of_them():
    null = exact_null(MannKendall())
    every = null.calibrate(0.05, 9)
    sampled = FlatNull(MannKendall(), FlatNoise()).sample(9)
    share = np.mean(sampled.within(9).max(axis=1) >= every.threshold)
    assert abs(share - every.realised) <= 4 * np.sqrt(every.realised / 50_000)
    longer = null.calibrate(0.05, 10)
    assert longer.method == "exact"
    assert "by 50000 random permutations, seed 0" in longer.assumptions
    assert longer.interval[0] < longer.realised < longer.interval[1] < 0.053
    assert longer.threshold >= every.threshold


def test_long_runs_are_judged_by_fewer_permutations_whatever_was_asked_before():
    null = exact_null(MannKendall())
    lengths = (12, 130, 60, 110, 30)
    found = {n: null.calibrate(0.05, n) for n in lengths}
    assert [found[n].runs for n in lengths] == [50_000, 12_500, 25_000, 12_500, 50_000]
    for n, told in found.items():
        assert told == exact(MannKendall(), 0.05, n)
        assert f"{told.runs} random permutations" in told.promise
    # Longer than the window, the law still is that of random orders.
    scores = np.random.default_rng(4).exponential(size=(10_000, 130))
    alarms = (scan(MannKendall(), Runs(scores)) >= found[130].threshold).any(axis=1).mean()
    assert abs(alarms - found[130].realised) <= 4 * np.sqrt(0.05 * (1 / 10_000 + 1 / 12_500))


def test_a_threshold_is_a_value_that_the_statistic_takes():
    found = exact(MannKendall(), 0.05, 16)
    scores = np.random.default_rng(4).standard_normal((20_000, 16))
    assert (scan(MannKendall(), Runs(scores)) == found.threshold).any()


def test_too_short_to_judge_is_no_alarm_at_all():
    found = exact(MannKendall(), 0.5, 2)
    assert found.threshold == np.inf
    assert not found.can_fire


@pytest.mark.parametrize("spec", ["k-decline:k=4", "patience", "mann-kendall"])
@pytest.mark.parametrize("n", [1, 4, 6])
def test_p_values_are_exact_on_all_permutations(spec, n):
    null = exact_null(DETECTORS.build(spec))
    largest = enumerated(DETECTORS.build(spec), n)
    for value in np.unique(largest):
        share = Fraction(int((largest >= value).sum()), len(largest))
        assert null.p_value(float(value), n) == pytest.approx(float(share), rel=1e-12)
    assert null.p_value(-np.inf, 0) == 1


def test_a_size_of_drops_has_a_threshold_of_its_own():
    """Its k stays as it was asked for: a budget buys larger drops instead of more of them."""
    rule = DETECTORS.build("k-decline:k=3,form=tolerance")
    null = best_null(rule, FlatNoise(sigma=0.1))
    found = null.calibrate(0.05, 12)
    assert (found.method, found.detector) == ("flat", "k-decline:k=3,form=tolerance")
    scores = 0.1 * np.random.default_rng(5).standard_normal((50_000, 12))
    alarms = (scan(rule, Runs(scores)) >= found.threshold).any(axis=1).mean()
    assert abs(alarms - 0.05) <= 4 * np.sqrt(2 * 0.05 / 50_000)
    assert natural_promise(rule, 8).realised == float(false_alarm_probability(3, 8))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("slope-glr", "no exact calibration is known"),
        ("k-decline:form=tolerance", "no exact calibration is known"),
        ("cusum", "exact run lengths hold for a given target and sigma only"),
        ("ewma:target=given", "set target=given, mean and sigma"),
        ("shiryaev-roberts:sigma=1", "set on=levels"),
    ],
)
def test_others_are_refused_and_told_what_to_do(spec, says):
    with pytest.raises(NoExactTheoryError, match=says) as told:
        exact(DETECTORS.build(spec), 0.05, 10)
    assert "(flat)" in str(told.value)
    assert "(conformal)" in str(told.value)
    assert best_null(DETECTORS.build(spec)).method == "flat"


@pytest.mark.parametrize("spec", ["k-decline", "mann-kendall", CHARTS[0]])
def test_an_exact_boundary_is_refused(spec):
    with pytest.raises(NoExactTheoryError, match="constant over evals"):
        exact_null(DETECTORS.build(spec)).calibrate(0.05, 8, boundary=True)


@pytest.mark.parametrize("spec", ["k-decline", "mann-kendall", CHARTS[0]])
def test_what_is_no_budget_is_refused(spec):
    null = exact_null(DETECTORS.build(spec))
    with pytest.raises(UserError, match="between 0 and 1"):
        null.calibrate(1.0, 8)
    with pytest.raises(UserError, match="at least 1 eval"):
        null.calibrate(0.1, 0)


def test_the_promise_of_a_natural_threshold():
    told = natural_promise(DETECTORS.build("k-decline:k=2"), 10)
    assert told.promise.startswith("at most 77% false stops within 10 evals (exact:")
    rule = DETECTORS.build("e-process:sigma=0.1,alpha=0.2")
    told = natural_promise(rule, 30)
    assert (told.threshold, told.realised) == (rule.natural_threshold, 0.2)
    assert "Ville" in told.promise
    for spec in ("e-process", "loss-plateau", "e-detector:sigma=1"):
        assert natural_promise(DETECTORS.build(spec), 10) is None
