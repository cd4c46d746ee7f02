"""Paired tests and ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from evalstop.benchmarks.paired import (
    holm,
    mean_interval,
    paired_difference,
    rank_over_blocks,
)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_never_helps(p):
    p = np.array(p)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    assert adjusted.min() == pytest.approx(min(1, p.min() * len(p)))


def test_a_paired_difference_is_that_of_scipy():
    ours, theirs = np.array([0.5, 0.52, 0.49, 0.55]), np.array([0.45, 0.5, 0.46, 0.5])
    told = paired_difference(ours, theirs)
    expected = ttest_rel(ours, theirs)
    assert told.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert (told.low, told.high) == pytest.approx((interval.low, interval.high))
    assert told.mean == pytest.approx(np.mean(ours - theirs))


def test_rules_that_never_differ_are_no_finding():
    same = np.array([0.4, 0.5])
    assert paired_difference(same, same) == (0, 0, 0, 1)


def test_an_interval_needs_two_values():
    assert np.isnan(mean_interval(np.array([np.nan]))).all()
    mean, low, high = mean_interval(np.array([0.3, np.nan]))
    assert mean == 0.3
    assert np.isnan([low, high]).all()


def test_ranks_over_blocks():
    # Demsar (2006), table 5: q = 2.728 for five rules.
    rng = np.random.default_rng(0)
    scores = rng.random((30, 5)) + np.arange(5)
    told = rank_over_blocks(scores)
    assert told.mean.tolist() == [5, 4, 3, 2, 1]
    assert told.p < 1e-10
    assert told.critical == pytest.approx(2.728 * np.sqrt(30 / 180), rel=1e-3)
    alike = rank_over_blocks(np.ones((4, 3)))
    assert alike.mean.tolist() == [2, 2, 2]
    assert alike.p == 1
