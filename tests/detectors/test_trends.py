"""The filtered trend against statsmodels, and the gap between proxy and score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalstop.detectors import DETECTORS, Observation, Runs, scan
from evalstop.detectors.noise import noise
from evalstop.detectors.zoo.kalman_trend import KalmanTrend


@pytest.mark.parametrize(("sigma", "level", "slope"), [(1, 0.3, 0.2), (0.5, 0, 1), (30, 0, 0.02)])
def test_filters_as_statsmodels_does(sigma, level, slope):
    from statsmodels.tsa.statespace.structural import UnobservedComponents

    x = np.random.default_rng(0).standard_normal(40).cumsum() * sigma + 700
    model = UnobservedComponents(x, "local linear trend", use_exact_diffuse=True)
    told = model.filter([sigma**2, (level * sigma) ** 2, (slope * sigma) ** 2])
    rule = KalmanTrend(sigma, level, slope)
    state = rule.init(1)
    for t in range(len(x)):
        state, statistic = rule.step(state, Observation(score=x[t : t + 1]))
        if t == 0:
            assert statistic == -np.inf  # one score has no slope
            continue
        mean, covariance = told.filtered_state[:, t], told.filtered_state_cov[:, :, t]
        ours = sigma**2 * np.array([state.level_variance, state.covariance, state.slope_variance])
        np.testing.assert_allclose([state.level[0], state.slope[0]], mean, rtol=1e-8)
        np.testing.assert_allclose(ours[:, 0], covariance[[0, 0, 1], [0, 1, 1]], rtol=1e-8)
        z = mean[1] / np.sqrt(covariance[1, 1])
        odds = stats.norm.logcdf(-z) - stats.norm.logcdf(z)
        np.testing.assert_allclose(statistic[0], odds, rtol=1e-7, atol=1e-7)


def test_the_odds_stay_finite():
    x = np.array([[1e9, 0.0, -1e9, -2e9]])
    statistics = scan(DETECTORS.build("kalman-trend:sigma=1"), Runs(x))
    assert np.isfinite(statistics[:, 1:]).all()


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=9).map(np.array)
)
def test_the_gap_is_the_proxy_rise_less_the_score_rise(pairs):
    score, proxy = pairs.T
    at = score.argmax()  # the earliest best
    expected = 0.0
    for x, sign in ((proxy, 1), (score, -1)):
        sigma = noise(x[None])[0]
        if sigma > 0:
            expected += sign * (x[-1] - x[at]) / sigma
    runs = Runs(score[None], proxy=proxy[None])
    gap = scan(DETECTORS.build("proxy-gap"), runs)[0, -1]
    assert gap == pytest.approx(expected, rel=1e-6, abs=1e-6)
    if at == len(score) - 1:
        assert gap == 0
