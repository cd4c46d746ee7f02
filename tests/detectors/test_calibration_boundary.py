"""Order statistics and boundaries keep their promise exactly, whatever the runs are.

The promise is about a run that is exchangeable with those of the calibration. So take any runs at
all, let each in turn be the new one: the share of turns in which it is stopped must be within the
budget. No distribution, no tolerance.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evalstop.detectors import first_alarm
from evalstop.detectors.calibration.boundary import spending_boundary
from evalstop.detectors.calibration.order import matched_threshold, runs_needed
from evalstop.errors import UserError

VALUES = {
    "whole numbers": st.integers(0, 4).map(float),
    "ties": st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 2.5]),
    "any": st.floats(-1e6, 1e6, allow_subnormal=False) | st.just(-np.inf),
}


@st.composite
def runs_and_rate(draw, kind):
    horizon, n = draw(st.integers(1, 7)), draw(st.integers(2, 24))
    fpr = draw(st.floats(1.01 / n, 0.9))
    return draw(arrays(float, (n, horizon), elements=VALUES[kind])), fpr


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_each_run_in_turn_as_the_new_one(kind, data):
    statistics, fpr = data.draw(runs_and_rate(kind))
    n, horizon = statistics.shape
    stopped, stopped_by = 0, np.zeros(horizon, dtype=int)
    for i in range(n):
        others, new = np.delete(statistics, i, axis=0), statistics[i : i + 1]
        stopped += new.max() >= matched_threshold(others.max(axis=1), fpr)
        (at,) = first_alarm(new, spending_boundary(others, fpr, spend_ties=True))
        stopped_by[at if at >= 0 else horizon :] += 1
    assert stopped <= fpr * n + 1e-6
    assert (stopped_by <= fpr * n * np.arange(1, horizon + 1) / horizon + 1e-6).all()


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("spend_ties", [True, False])
@given(data=st.data())
def test_the_runs_themselves_never_spend_more(kind, spend_ties, data):
    statistics, fpr = data.draw(runs_and_rate(kind))
    n, horizon = statistics.shape
    if n < runs_needed(fpr):
        with pytest.raises(UserError, match="negative runs"):
            spending_boundary(statistics, fpr, spend_ties=spend_ties)
        return
    levels = spending_boundary(statistics, fpr, spend_ties=spend_ties)
    alarms = first_alarm(statistics, levels)
    for t in range(horizon):
        spent = np.count_nonzero((alarms >= 0) & (alarms <= t))
        assert spent <= fpr * (n + 1) * (t + 1) / horizon + 1e-6


def test_a_horizon_of_one_eval_is_a_threshold():
    largest = np.random.default_rng(0).standard_normal((500, 1))
    for fpr in (0.01, 0.05, 0.3):
        (level,) = spending_boundary(largest, fpr, spend_ties=True)
        assert level == matched_threshold(largest[:, 0], fpr)


def test_continuous_statistics_spend_all_of_it():
    rng = np.random.default_rng(1)
    known, fresh = rng.standard_normal((2, 40_000, 8)).cumsum(axis=2)
    levels = spending_boundary(known, 0.1, spend_ties=True)
    alarms = first_alarm(fresh, levels)
    for t in range(8):
        due = 0.1 * (t + 1) / 8
        spent = np.mean((alarms >= 0) & (alarms <= t))
        assert abs(spent - due) <= 4 * math.sqrt(2 * due / 40_000)


def test_what_ties_leave_is_kept_for_later():
    """A count that only rarely takes its next value: a tenth would be lost at every eval."""
    rng = np.random.default_rng(2)
    known, fresh = rng.poisson(1.0, (2, 40_000, 30)).astype(float)
    shares = []
    for spend_ties in (True, False):
        levels = spending_boundary(known, 0.05, spend_ties=spend_ties)
        shares.append(np.mean(first_alarm(fresh, levels) >= 0))
    assert shares[0] < shares[1] <= 0.05 + 4 * math.sqrt(2 * 0.05 / 40_000)
