"""Bets against a flat curve: what they promise, exactly and in simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Runs, first_alarm, scan
from evalstop.detectors.noise import noise
from evalstop.errors import UserError

curves = st.lists(st.floats(-2, 2), min_size=1, max_size=9).map(np.array)


def wealth(rule, x):
    return np.exp(rule.statistic(np.atleast_2d(x)))


@given(curves, st.sampled_from([3, 5, 20]))
def test_is_the_mixture_of_likelihood_ratios(x, horizon):
    n, deltas, sigma = len(x), (0.5, 1, 2, 4), 0.7
    total = 0.0
    for tau in range(1, horizon):
        for delta in deltas:
            ratio = 1.0
            if tau < n:
                v = tau * (n - tau) / n
                fall = x[:tau].mean() - x[tau:].mean()
                ratio = np.exp(delta * v * fall / sigma - delta**2 * v / 2)
            total += ratio / (4 * horizon)
    rule = DETECTORS.build(f"e-process:sigma=.7,horizon={horizon}")
    np.testing.assert_allclose(wealth(rule, x)[0], total + 1 / horizon, rtol=1e-9)


@pytest.mark.parametrize(
    ("spec", "gain"), [("e-process:sigma=.5,horizon=6", 0.0), ("e-detector:sigma=.5", 1.0)]
)
@given(x=curves)
def test_is_a_martingale_on_flat_noise(spec, gain, x):
    """Given the differences so far, the next score is normal around their mean: integrate."""
    rule, m = DETECTORS.build(spec), len(x)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    following = x.mean() + 0.5 * np.sqrt(1 + 1 / m) * nodes
    extended = np.column_stack([np.tile(x, (len(nodes), 1)), following])
    expected = (weights * wealth(rule, extended)).sum() / weights.sum()
    np.testing.assert_allclose(expected, wealth(rule, x)[0] + gain, rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.01])
def test_hardly_ever_stops_a_flat_curve(alpha):
    rule = DETECTORS.build(f"e-process:sigma=1,horizon=20,alpha={alpha}")
    n = 4000
    flat = Runs(np.random.default_rng(1).standard_normal((n, 60)))  # past the horizon too
    stopped = (first_alarm(scan(rule, flat), rule.natural_threshold) >= 0).mean()
    assert stopped <= alpha + 4 * np.sqrt(alpha * (1 - alpha) / n)
    assert stopped > 0


def test_false_alarms_come_as_seldom_as_promised():
    rule = DETECTORS.build("e-detector:sigma=1,arl=20")
    n, horizon = 600, 150
    flat = Runs(np.random.default_rng(2).standard_normal((n, horizon)))
    alarm = first_alarm(scan(rule, flat), rule.natural_threshold)
    waited = np.where(alarm < 0, horizon, alarm + 1)  # at least that long
    assert waited.mean() - 4 * waited.std() / np.sqrt(n) >= 20
    assert (alarm >= 0).mean() > 0.9


@pytest.mark.parametrize("name", ["e-process", "e-detector"])
def test_an_estimated_noise_promises_nothing(name):
    x = np.random.default_rng(0).standard_normal((5, 8))
    rule = DETECTORS.build(name)
    assert rule.natural_threshold is None
    for row in x:
        known = DETECTORS.build(f"{name}:sigma={noise(row[None])[0]}")
        np.testing.assert_allclose(rule.statistic(row[None]), known.statistic(row[None]))


@pytest.mark.parametrize("name", ["e-process", "e-detector"])
def test_a_wild_score_is_no_overflow(name):
    x = np.array([[0.0, 1.0, 0.0, -1e12, 1e12]])
    assert np.isfinite(scan(DETECTORS.build(f"{name}:sigma=1"), Runs(x))).all()
    with pytest.raises(UserError, match="shifts must be numbers above 0"):
        DETECTORS.build(f"{name}:shifts=1,-2")
