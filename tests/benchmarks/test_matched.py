import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.benchmarks.matched import (
    held_out_thresholds,
    largest_statistics,
    matched_threshold,
    runs_needed,
)
from evalstop.errors import UserError


@given(st.integers(1, 400), st.floats(0.005, 0.5), st.integers(0, 1000), st.booleans())
def test_the_smallest_value_above_the_order_statistic(n, fpr, seed, whole):
    rng = np.random.default_rng(seed)
    largest = rng.integers(0, 6, n) * 1.0 if whole else rng.normal(size=n)
    rank = math.ceil((1 - fpr) * (n + 1) - 1e-9)
    if rank > n:
        assert n < runs_needed(fpr)
        with pytest.raises(UserError, match=f"needs {runs_needed(fpr)} negative runs"):
            matched_threshold(largest, fpr)
        return
    threshold, quantile = matched_threshold(largest, fpr), np.sort(largest)[rank - 1]
    if whole and largest.any():
        assert threshold == quantile + 1
    else:
        assert threshold == np.nextafter(quantile, np.inf)
    assert (largest >= threshold).sum() <= fpr * (n + 1)


def test_the_promise_holds_on_fresh_runs():
    rng = np.random.default_rng(0)
    alarms = [
        (rng.normal(size=50) >= matched_threshold(rng.normal(size=79), 0.05)).mean()
        for _ in range(1000)
    ]
    assert np.mean(alarms) == pytest.approx(0.05, abs=0.004)


@pytest.mark.parametrize(("fpr", "needed"), [(0.015, 66), (0.05, 19), (0.01, 99), (0.1, 9)])
def test_how_many_runs_a_rate_needs(fpr, needed):
    assert runs_needed(fpr) == needed
    matched_threshold(np.arange(float(needed)), fpr)
    with pytest.raises(UserError, match=f"there are {needed - 1}"):
        matched_threshold(np.arange(needed - 1.0), fpr)


@pytest.mark.parametrize("fpr", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_what_is_no_rate_is_refused(fpr):
    with pytest.raises(UserError, match="between 0 and 1"):
        matched_threshold(np.arange(500.0), fpr)


def test_infinite_statistics_are_refused():
    with pytest.raises(UserError, match="infinite"):
        matched_threshold(np.full(30, np.inf), 0.05)


def test_runs_that_cannot_be_judged_leave_the_threshold_below_every_number():
    assert -1e300 > matched_threshold(np.full(30, -np.inf), 0.05) > -np.inf


@given(st.integers(0, 1000))
def test_held_out_is_leaving_each_group_out(seed):
    rng = np.random.default_rng(seed)
    n, fpr = 80, 0.05
    groups = rng.integers(0, 25, n)
    negative = rng.random(n) < 0.7
    largest = rng.integers(-3, 9, n) + 0.5  # many ties, and no counts
    if (negative.sum() - np.bincount(groups[negative]).max()) < runs_needed(fpr):
        return
    found = held_out_thresholds(largest, negative, groups, fpr)
    expected = [matched_threshold(largest[negative & (groups != g)], fpr) for g in groups]
    assert found.tolist() == expected


def test_a_run_has_no_say_in_its_own_threshold():
    rng = np.random.default_rng(1)
    groups, negative = np.arange(90) // 3, np.full(90, True)
    largest = rng.normal(size=90)
    before = held_out_thresholds(largest, negative, groups, 0.05)
    largest[groups == 7] = 100.0
    after = held_out_thresholds(largest, negative, groups, 0.05)
    np.testing.assert_array_equal(after[groups == 7], before[groups == 7])
    assert (after[groups != 7] >= before[groups != 7]).all()


def test_a_last_alarm_may_be_left_out_of_the_budget():
    statistics = np.array([[1.0, 2, 9, -np.inf], [3.0, 1, 1, 7]])
    lengths = np.array([3, 4])
    assert largest_statistics(statistics, lengths).tolist() == [9, 7]
    assert largest_statistics(statistics, lengths, last_counts=False).tolist() == [2, 3]
