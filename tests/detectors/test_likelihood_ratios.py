"""Slopes, steps, ranks, unimodal fits and breaks, against plain programs and golden values."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Observation, Runs, scan
from evalstop.detectors.noise import noise
from evalstop.detectors.zoo.mann_kendall import MannKendall
from evalstop.detectors.zoo.ruptures import best_breaks
from evalstop.detectors.zoo.step_glr import split_contrasts
from evalstop.detectors.zoo.unimodal_glr import falling_error, unimodal_gain

GOLDEN = Path(__file__).parents[1] / "data" / "golden"

scores = st.lists(
    st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(-5, 5)), min_size=1, max_size=9
).map(np.array)


def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())["data"]


def last_statistic(spec, x):
    return scan(DETECTORS.build(spec), Runs(np.asarray(x)[None]))[0, -1]


@given(scores)
def test_slope_glr_fits_every_window(x):
    terms = [-np.inf]
    for m in range(3, len(x) + 1):
        i = np.arange(m)
        slope = np.polyfit(i, x[-m:], 1)[0]
        terms.append(-slope * np.sqrt(((i - i.mean()) ** 2).sum()) / 0.2)
    assert last_statistic("slope-glr:sigma=.2", x) == pytest.approx(max(terms), abs=1e-8)


@given(scores)
def test_step_glr_is_the_log_likelihood_ratio_of_the_best_split(x):
    gains = [0.0]
    for cut in range(1, len(x)):
        a, b = x[:cut], x[cut:]
        if a.mean() > b.mean():
            split = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
            gains.append((((x - x.mean()) ** 2).sum() - split) / (2 * 0.2**2))
    expected = max(gains) if len(x) > 1 else -np.inf
    assert last_statistic("step-glr:sigma=.2", x) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("spec", "row"),
    [("step-glr:sigma=1,sided=two", "both_loc=None"), ("step-glr:sigma=1", "left_loc=None")],
)
def test_step_glr_equals_brute_force(spec, row):
    data = golden("focus")
    statistics = scan(DETECTORS.build(spec), Runs(np.array(data["x"])[None]))[0]
    expected = data[row]["bruteforce_glr"]
    np.testing.assert_allclose(statistics[1:], expected[1:], atol=1e-12)


def test_splits_are_the_cusum_of_residuals():
    data = golden("statsmodels_nile")
    x = np.array(data["x"])
    n, before = len(x), np.arange(1, len(x))
    # their cusum is of the residuals over sqrt(n sd^2): the contrast but for its standardisation
    cusum = split_contrasts(x[None])[0] * np.sqrt(before * (n - before) / n)
    np.testing.assert_allclose(cusum / (x.std() * np.sqrt(n)), data["ols_cusum"][:-1], rtol=1e-10)


def test_mann_kendall_equals_its_test():
    for row in golden("mannkendall"):
        x = np.array(row["x"])
        rule = MannKendall(window=max(len(x), 3))
        state = rule.init(1)
        for score in x:
            state, _ = rule.step(state, Observation(score=np.array([score])))
        s = -int(state.falls[0, -1])
        assert s == row["s"]
        # they correct for continuity
        assert (s + 1) / np.sqrt(row["var_s"]) == pytest.approx(row["z"])
        assert last_statistic("mann-kendall", x) >= -row["s"] / np.sqrt(row["var_s"])


def decline(x):
    """Give -S of a window over its standard deviation, by its definition."""
    m = len(x)
    s = sum(np.sign(b - a) for a, b in itertools.combinations(x, 2))
    return -s / np.sqrt(m * (m - 1) * (2 * m + 5) / 18)


@given(curves=st.lists(scores, min_size=1, max_size=4), window=st.sampled_from([3, 4, 7, 64]))
def test_mann_kendall_counts_the_pairs_of_every_window(curves, window):
    statistics = scan(MannKendall(window), Runs.of(curves))
    for x, found in zip(curves, statistics, strict=True):
        for t in range(1, len(x) + 1):
            ends = [x[t - m : t] for m in range(3, min(t, window) + 1)]
            assert found[t - 1] == max(map(decline, ends), default=-np.inf)


def test_mann_kendall_remembers_its_window_and_no_more():
    x = np.random.default_rng(0).standard_normal((5, 300)).round(1)
    whole = scan(MannKendall(), Runs(x))
    for t in (64, 65, 200, 300):
        last = scan(MannKendall(window=256), Runs(x[:, t - 64 : t]))
        np.testing.assert_array_equal(whole[:, t - 1], last[:, -1])
    rule = MannKendall(window=256)
    state = rule.init(1)
    for score in np.arange(300.0, 0, -1):  # as many pairs fall as can
        state, statistic = rule.step(state, Observation(score=np.array([score])))
    assert state.falls.shape == (1, 256)
    assert statistic[0] == pytest.approx(decline(np.arange(256.0, 0, -1)))


@given(scores, st.sampled_from([np.exp, np.cbrt, lambda v: 7 * v - 3]))
def test_mann_kendall_knows_the_order_only(x, increasing):
    y = increasing(x)
    if len(np.unique(y)) == len(np.unique(x)):
        assert last_statistic("mann-kendall", y) == last_statistic("mann-kendall", x)


def rising_error(x):
    from sklearn.isotonic import IsotonicRegression

    return ((x - IsotonicRegression().fit_transform(np.arange(len(x)), x)) ** 2).sum()


@given(scores.filter(lambda x: len(x) <= 6))
def test_unimodal_gain_is_that_of_two_isotonic_fits(x):
    rise = [0.0, *(rising_error(x[:p]) for p in range(1, len(x) + 1))]
    fall = [*(rising_error(x[p:][::-1]) for p in range(len(x))), 0.0]
    np.testing.assert_allclose(falling_error(x[None])[0], fall, atol=1e-9)
    expected = rise[-1] - min(map(sum, zip(rise, fall, strict=True)))
    np.testing.assert_allclose(unimodal_gain(x[None]), expected, atol=1e-9)


def test_the_isotonic_fit_is_the_best_of_all_partitions():
    """Brute force: the best monotone step function over all ways to cut into levels."""
    rng = np.random.default_rng(3)
    for x in rng.standard_normal((20, 7)):
        best = np.inf
        for cuts in itertools.product([False, True], repeat=6):
            pieces = np.split(x, np.flatnonzero(cuts) + 1)
            means = [p.mean() for p in pieces]
            if all(a >= b for a, b in itertools.pairwise(means)):
                best = min(best, sum(((p - p.mean()) ** 2).sum() for p in pieces))
        assert falling_error(x[None])[0, 0] == pytest.approx(best)


def test_unimodal_glr_may_take_sigma_as_a_guess():
    x = np.random.default_rng(0).standard_normal((3, 7))
    statistic = DETECTORS.build("unimodal-glr:sigma=2,guess_weight=4").statistic(x)
    sigma = noise(x, prior=2.0, weight=4.0)
    np.testing.assert_allclose(statistic, unimodal_gain(x) / sigma**2)


def test_fused_is_the_sum_of_its_parts():
    x = np.random.default_rng(0).standard_normal((3, 7))
    law = DETECTORS.build("gao-fit:sigma=.5").statistic(x)
    free = DETECTORS.build("unimodal-glr:sigma=.5,guess_weight=4").statistic(x)
    fused = DETECTORS.build("fused:sigma=.5,weight=.7").statistic(x)
    np.testing.assert_allclose(fused, law + 0.7 * free)


@given(scores.filter(lambda x: len(x) >= 4))
def test_ruptures_finds_the_best_break(x):
    def cost(cut):
        a, b = x[:cut], x[cut:]
        return ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()

    best = min(cost(cut) for cut in range(2, len(x) - 1))
    (found,) = best_breaks(x[None], 2)
    assert cost(found) == pytest.approx(best, abs=1e-9)
    gain = ((x - x.mean()) ** 2).sum() - cost(found)
    expected = gain if x[:found].mean() > x[found:].mean() else 0
    assert last_statistic("ruptures:sigma=1", x) == pytest.approx(expected, abs=1e-9)


def test_ruptures_breaks_where_its_other_searches_do():
    for row in golden("ruptures"):
        signal = np.array(row["signal"])[:, 0]
        for search in ("pelt_l2", "dynp_l2"):
            start, cut, end = [0, *row[search]][-3:]
            assert start + best_breaks(signal[None, start:end], 2)[0] == cut
