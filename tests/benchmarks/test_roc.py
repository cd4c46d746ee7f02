import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from populations import made_up

from evalstop.benchmarks.matched import largest_statistics
from evalstop.benchmarks.population import LabelledRuns
from evalstop.benchmarks.roc import amoc, area, roc
from evalstop.benchmarks.scores import score
from evalstop.detectors import Runs, first_alarm, scan
from evalstop.detectors.zoo.drawdown import Drawdown

seeds = st.integers(0, 10_000)


def ranked(seed, n=80):
    """Statistics with ties and a few that cannot judge, and labels that they tell something of."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 3 == 0
    largest = np.round(rng.normal(size=n) + positive, 1)
    largest[rng.random(n) < 0.05] = -np.inf
    return largest, positive


@given(seeds)
def test_area_is_the_chance_to_rank_a_pair_right(seed):
    largest, positive = ranked(seed)
    bad, good = largest[positive][:, None], largest[~positive]
    assert area(roc(largest, positive)) == pytest.approx(((bad > good) + (bad == good) / 2).mean())


@given(seeds, st.sampled_from([0.02, 0.05, 0.3]))
def test_partial_area_is_the_mean_recall_up_to_there(seed, limit):
    curve = roc(*ranked(seed))
    grid = np.linspace(0, limit, 4001)
    # Where the curve is vertical the grid takes its top, so that it errs by one step at most.
    assert area(curve, limit) == pytest.approx(
        np.interp(grid, curve.fpr, curve.tpr).mean(), abs=2e-3
    )


@given(seeds)
def test_each_point_is_what_its_threshold_does(seed):
    largest, positive = ranked(seed)
    curve = roc(largest, positive)
    for fpr, tpr, threshold in zip(*curve, strict=True):
        assert tpr == (largest[positive] >= threshold).mean()
        assert fpr == (largest[~positive] >= threshold).mean()


@given(seeds)
def test_only_the_order_of_statistics_counts(seed):
    largest, positive = ranked(seed)
    other = np.exp(largest)
    np.testing.assert_array_equal(roc(other, positive).tpr, roc(largest, positive).tpr)


@pytest.mark.parametrize(
    ("largest", "positive"),
    [([1.0] * 6, [0, 1] * 3), ([1.0, 2, 3], [1, 1, 1]), ([1.0, 2, 3], [0, 0, 0])],
)
def test_a_statistic_that_ranks_nothing_is_degenerate_and_not_a_half(largest, positive):
    curve = roc(np.array(largest), np.array(positive, dtype=bool))
    assert curve.degenerate
    assert np.isnan(area(curve))
    assert np.isnan(area(curve, 0.05))


def rise_and_fall(seed, n=400, m=12):
    """Runs of random amplitude and offset, half of which fall after a random peak."""
    rng = np.random.default_rng(seed)
    progress = np.tile(np.arange(1, m + 1) / m, (n, 1))
    hacking, peak = np.arange(n) % 2 == 0, rng.uniform(0.3, 0.8, (n, 1))
    rise = np.minimum(progress / peak, 1)
    true = np.where(hacking[:, None] & (progress > peak), 1 - 0.8 * (progress - peak), rise)
    true = rng.uniform(0.3, 1, (n, 1)) * true + rng.uniform(-1, 1, (n, 1))
    return LabelledRuns(
        kind=np.where(hacking, "hacking", "healthy"),
        peak=np.where(hacking, peak[:, 0], np.nan),
        progress=progress,
        observed=true + 0.03 * rng.standard_normal((n, m)),
        true=true,
        n_evals=np.full(n, m),
        stoppable=np.full(n, True),
        gpu_hours=np.ones(n),
    )


class TestGuards:
    """A score that cannot tell these apart would be worth nothing."""

    told = rise_and_fall(0)

    def auc(self, scores, positive):
        statistics = scan(Drawdown(), Runs(scores))
        return area(roc(largest_statistics(statistics, self.told.n_evals), positive))

    def test_the_detector_works(self):
        assert self.auc(self.told.observed, self.told.hacking) > 0.95

    def test_shuffled_labels_are_guessing(self):
        rng = np.random.default_rng(5)
        shuffled = [
            self.auc(self.told.observed, rng.permutation(self.told.hacking)) for _ in range(40)
        ]
        assert np.mean(shuffled) == pytest.approx(0.5, abs=0.02)

    def test_a_flipped_sign_breaks_it(self):
        assert self.auc(-self.told.observed, self.told.hacking) < 0.6

    def test_constant_curves_are_degenerate(self):
        assert np.isnan(self.auc(np.full_like(self.told.observed, 0.3), self.told.hacking))


class TestAmoc:
    told = rise_and_fall(1)
    statistics = scan(Drawdown(), Runs(told.observed))

    def test_it_is_the_score_at_each_threshold(self):
        curve = amoc(self.statistics, self.told, n_thresholds=7)
        assert len(curve.fpr) == 7
        largest = self.statistics[~self.told.hacking].max(axis=1)
        for fpr, delay in zip(*curve, strict=True):
            threshold = np.sort(largest)[::-1][round(fpr * len(largest)) - 1]
            found = score(self.told, first_alarm(self.statistics, threshold))
            assert (found.fpr_all, found.delay_mean) == pytest.approx((fpr, delay), nan_ok=True)

    def test_more_false_alarms_buy_less_delay(self):
        curve = amoc(self.statistics, self.told)
        assert (np.diff(curve.fpr) > 0).all()
        few, many = curve.delay[curve.fpr < 0.05], curve.delay[curve.fpr > 0.5]
        assert np.nanmean(many) < few.mean()

    @given(seeds)
    def test_it_knows_missing_evals_and_runs_that_may_not_be_stopped(self, seed):
        told, _ = made_up(seed)
        statistics = scan(Drawdown(), Runs(told.observed, told.n_evals))
        curve = amoc(statistics, told)
        for threshold_rate, delay in zip(*curve, strict=True):
            assert 0 < threshold_rate <= 1
            assert delay >= 0 or np.isnan(delay)
