"""The law of over-optimisation, fitted: against least squares and Student's t of scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalstop.detectors.zoo.gao_fit import GaoFit, log_tail


def posterior_evidence(x, sigma, prior_df=2.0, trend_sd=33.0):
    """Give the statistic by the book: least squares on scores and prior rows together."""
    t = len(x)
    i = np.arange(1.0, t + 1)
    design = np.stack([np.ones(t), i, i * np.log(i)], axis=1)
    prior = np.diag(1 / (trend_sd * np.array([10, 1, 1])))
    rows = np.vstack([design, prior])
    beta = np.linalg.lstsq(rows, np.concatenate([x - x[0], np.zeros(3)]), rcond=None)[0]
    covariance = np.linalg.inv(rows.T @ rows)
    df = prior_df + max(t - 3, 0)
    variance = (prior_df * sigma**2 + ((x - x[0] - design @ beta) ** 2).sum()) / df
    falls = [c @ beta / np.sqrt(variance * (c @ covariance @ c)) for c in design[:-1] - design[-1]]
    return -stats.t.logsf(max(falls), df)


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=12),
    st.sampled_from([0.03, 0.5]),
    st.sampled_from([(2.0, 33.0), (5.0, 3.0)]),
)
def test_is_the_posterior_tail_of_the_largest_fall(x, sigma, prior):
    x = np.array(x)
    rule = GaoFit(sigma, *prior)
    np.testing.assert_allclose(
        rule.statistic(x[None])[0], posterior_evidence(x, sigma, *prior), rtol=1e-6, atol=1e-9
    )


def test_knows_its_law_and_its_peak():
    i = np.arange(1, 16)
    d = i / 6.0
    law = d * (1 - np.log(d)) / 3 + 0.2  # best at the sixth eval
    statistic = [GaoFit(sigma=0.01).statistic(law[None, :m])[0] for m in range(2, 16)]
    assert statistic[4] < 1  # at the peak itself nothing has fallen
    assert statistic[5] < statistic[6] < statistic[7]
    assert statistic[9] > 10


@pytest.mark.parametrize("df", [0.5, 2.0, 3.0, 7.0, 19.0, 100.0, 1000.0])
def test_the_tail_is_that_of_student_and_goes_on(df):
    t = np.linspace(-50, 50, 201)
    near = stats.t.logsf(t, df)
    seen = near > -600
    np.testing.assert_allclose(log_tail(t, df)[seen], near[seen], rtol=1e-9, atol=1e-14)
    far = log_tail(np.logspace(0, 150, 3000), df)
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0).all()
    # far out the tail is a power of t
    slope = (far[-1] - far[-2]) / (150 / 2999 * np.log(10))
    assert slope == pytest.approx(-df, rel=1e-6)
