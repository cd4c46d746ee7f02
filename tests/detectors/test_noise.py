"""The noise of one eval, estimated from the scores so far."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors.noise import add_noise, no_noise, noise, noise_of, standardised

scores = st.lists(
    st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=6, max_size=6),
    min_size=1,
    max_size=5,
).map(np.array)


@given(scores)
def test_the_recurrence_equals_the_formula_of_the_prefix(curves):
    state = no_noise(len(curves))
    for m in range(1, curves.shape[1] + 1):
        state = add_noise(state, curves[:, m - 1])
        np.testing.assert_allclose(noise_of(state), noise(curves[:, :m]), rtol=1e-12, atol=1e-12)


def test_by_hand():
    # first differences 1, -3; second difference -4; prior (1 + 9) / 2 / 2
    np.testing.assert_allclose(noise(np.array([[0.0, 1.0, -2.0]])), np.sqrt((16 / 6 + 2.5) / 2))
    np.testing.assert_allclose(noise(np.array([[0.0, 1.0]])), np.sqrt(0.5))
    guessed = noise(np.array([[0.0, 1.0, -2.0]]), prior=2.0, weight=3.0)
    np.testing.assert_allclose(guessed, np.sqrt((16 / 6 + 3 * 4) / 4))


def test_finds_the_noise_and_hardly_sees_a_trend():
    x = 0.3 * np.random.default_rng(0).standard_normal((2000, 60))
    trend = 3 * np.sin(np.linspace(0, 3, 60))
    for curves in (x, x + trend):
        assert np.sqrt(np.mean(noise(curves) ** 2)) == pytest.approx(0.3, rel=0.02)


@given(scores, st.floats(-100, 100), st.sampled_from([1e-3, 0.5, 8.0]))
def test_moves_with_the_scale_and_not_with_the_offset(curves, offset, scale):
    np.testing.assert_allclose(
        noise(scale * curves + offset), scale * noise(curves), rtol=1e-6, atol=1e-9
    )


@given(scores.map(np.rint))
def test_is_zero_on_constant_scores_only(curves):
    constant = (curves == curves[:, :1]).all(axis=1)
    np.testing.assert_array_equal(noise(curves) == 0, constant)


def test_over_no_noise_there_is_no_evidence():
    value = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(standardised(value, np.array([0.0, 2.0])), [[0, 0], [1.5, 2]])
    np.testing.assert_array_equal(standardised(value, 2.0), value / 2)
