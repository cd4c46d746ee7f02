import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from evalstop.benchmarks.unimodal import unimodal_fit

curves = st.lists(st.integers(-20, 20), min_size=1, max_size=12).map(lambda v: np.array(v) / 4)


def best_error(scores):
    """Try every split into a rising and a falling part."""
    return min(
        sum(
            ((isotonic_regression(part, increasing=up).x - part) ** 2).sum()
            for part, up in ((scores[:k], True), (scores[k:], False))
            if len(part)
        )
        for k in range(len(scores) + 1)
    )


@given(curves)
def test_no_rise_and_fall_is_closer(scores):
    fit = unimodal_fit(scores)
    assert ((fit.values - scores) ** 2).sum() == pytest.approx(best_error(scores), abs=1e-9)


@given(curves)
def test_it_rises_to_its_peak_and_falls_after_it(scores):
    fit = unimodal_fit(scores)
    assert (np.diff(fit.values[: fit.peak + 1]) >= 0).all()
    assert (np.diff(fit.values[fit.peak :]) <= 0).all()
    assert fit.peak == fit.values.argmax()


@given(curves, st.integers(-8, 8), st.sampled_from([0.5, 1, 2, 8]))
def test_the_peak_does_not_know_the_unit_of_the_score(scores, offset, scale):
    assert unimodal_fit(offset + scale * scores).peak == unimodal_fit(scores).peak


def test_a_curve_that_is_unimodal_is_its_own_fit():
    scores = np.array([0.1, 0.4, 0.4, 0.9, 0.5, 0.5, 0.2])
    assert unimodal_fit(scores).values.tolist() == scores.tolist()
    assert unimodal_fit(scores).peak == 3
