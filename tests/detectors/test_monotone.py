"""The claim of monotone members: a rising trend can only lower the statistic.

It is what makes a threshold for flat noise hold for every healthy (non-decreasing) mean.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_contract import VARIANTS

from evalstop.detectors import DETECTORS, Runs, scan
from evalstop.detectors.rules import is_discrete, is_monotone, is_rank_based
from evalstop.detectors.settings import name_of, spec_of
from evalstop.detectors.zoo import ZOO

CHARTS = ("cusum:sigma=1", "ewma:target=given,sigma=1", "shiryaev-roberts:sigma=1")
CONFIGS = [*(cls() for cls in ZOO), *map(DETECTORS.build, (*VARIANTS, *CHARTS))]
MONOTONE = [d for d in CONFIGS if is_monotone(d)]


# Multiples of 1/1024, so that adding them is exact: rounding must not make a tie or undo one.
exactly = st.integers(-2048, 2048).map(lambda i: i / 1024)


@st.composite
def curve_and_trend(draw):
    n = draw(st.integers(1, 9))
    value = st.one_of(st.integers(-3, 3).map(float), exactly)
    rise = st.one_of(st.just(0.0), exactly.map(abs))
    curve = draw(st.lists(value, min_size=n, max_size=n))
    return np.array(curve), np.cumsum(draw(st.lists(rise, min_size=n, max_size=n)))


@pytest.mark.parametrize("rule", MONOTONE, ids=spec_of)
@given(curve_and_trend())
def test_a_rising_trend_never_raises_the_statistic(rule, case):
    curve, trend = case
    flat, risen = scan(rule, Runs(np.stack([curve, curve + trend])))
    slack = 0 if is_discrete(rule) else 1e-9 * (1 + np.abs(flat[np.isfinite(flat)]).max(initial=0))
    assert (risen <= flat + slack).all()


def test_which_members_claim_it():
    claimed = {name_of(d) for d in MONOTONE}
    assert claimed >= {
        "k-decline",
        "patience",
        "drawdown",
        "ewma-drawdown",
        "page-hinkley",
        "slope-glr",
        "step-glr",
        "mann-kendall",
        "unimodal-glr",
        "e-process",
        "e-detector",
        "ruptures",
    }


@pytest.mark.parametrize(
    "name", ["slope-glr", "step-glr", "unimodal-glr", "e-process", "e-detector"]
)
def test_an_estimated_noise_is_no_claim(name):
    """A trend that straightens the curve lowers the estimate, and so raises the statistic."""
    curve, trend = np.array([3.0, 3, 0, -1, -2]), np.array([1.0, 1, 3, 3, 3])
    runs = Runs(np.stack([curve, curve + trend]))
    for spec, claim in ((name, False), (f"{name}:sigma=1", True)):
        rule = DETECTORS.build(spec)
        flat, risen = scan(rule, runs)[:, -1]
        assert is_monotone(rule) == claim == (risen <= flat)


def test_a_discrete_statistic_says_so():
    """On scores that never tie a discrete statistic takes few values."""
    x = np.random.default_rng(0).standard_normal((2000, 8))
    for rule in MONOTONE:
        values = np.unique(scan(rule, Runs(x))[:, -1])
        assert is_discrete(rule) == (len(values) < 200), spec_of(rule)


@pytest.mark.parametrize("rule", [d for d in CONFIGS if is_rank_based(d)], ids=spec_of)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=9))
def test_a_rank_based_statistic_sees_the_order_only(rule, curve):
    scores = np.array(curve, dtype=float)
    plain, bent = scan(rule, Runs(np.stack([scores, np.exp(scores / 4) - 7])))
    np.testing.assert_array_equal(plain, bent)
