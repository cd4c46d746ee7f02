import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from evalstop.benchmarks.intervals import percentiles, resample, share_interval, wilson


@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson_is_that_of_scipy(n, share):
    k = round(share * n)
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_nothing_counted_has_no_interval():
    assert np.isnan(wilson(0, 0)).all()
    assert np.isnan(percentiles(np.array([np.nan, np.nan]))).all()


def test_resamples_draw_as_many_groups_as_there_are():
    draws = resample(7, 50, seed=3)
    assert draws.shape == (50, 7)
    assert (draws.sum(axis=1) == 7).all()
    np.testing.assert_array_equal(draws, resample(7, 50, seed=3))


class TestShare:
    everyone = np.full(60, True)
    hits = np.arange(60) % 3 == 0

    def interval(self, hits, groups, among=everyone):
        return share_interval(hits, among, groups, resample(int(groups.max()) + 1, 2000, seed=0))

    def test_independent_runs_have_wilsons(self):
        assert self.interval(self.hits, np.arange(60)) == wilson(20, 60)

    def test_groups_that_agree_widen_it(self):
        groups = np.arange(60) // 7
        scattered = self.interval(self.hits, groups)  # two or three hits in each group
        together = self.interval(np.arange(60) < 20, groups)
        assert np.diff(scattered) < np.diff(wilson(20, 60)) < np.diff(together)

    def test_all_or_none_is_not_certainty(self):
        groups = np.arange(60) // 6
        low, high = self.interval(np.full(60, False), groups)
        assert (low, high) == pytest.approx(wilson(0, 10))
        assert self.interval(self.everyone, groups) == pytest.approx(wilson(10, 10))

    def test_one_group_tells_as_much_as_one_run(self):
        groups = np.zeros(60, dtype=int)
        assert self.interval(self.hits, groups) == pytest.approx(wilson(1 / 3, 1))

    def test_nothing_among(self):
        none = np.full(60, False)
        assert np.isnan(self.interval(none, np.arange(60), among=none)).all()
