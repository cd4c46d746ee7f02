"""Thresholds from healthy runs: units, lengths, blocks, and what the budget really buys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Runs, first_alarm, scan
from evalstop.detectors.calibration import HealthyNull
from evalstop.detectors.calibration.conformal import packed, rate_interval
from evalstop.detectors.calibration.order import matched_threshold
from evalstop.detectors.logs.curve import Curve, Reading
from evalstop.detectors.logs.eval_runs import eval_runs
from evalstop.errors import UserError

DRAWDOWN = DETECTORS.build("drawdown")


def correlated(n_runs, n_evals, seed, rho=0.7):
    """AR(1) noise about a rising mean: nothing that a theory covers."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n_runs, n_evals))
    for i in range(1, n_evals):
        scores[:, i] += rho * scores[:, i - 1]
    return scores + np.linspace(0, 1, n_evals)


def null_of(scores, groups=None, detector=DRAWDOWN, **options):
    groups = np.arange(len(scores)) if groups is None else np.asarray(groups)
    return HealthyNull(detector, Runs(np.asarray(scores, dtype=float)), groups, **options)


@pytest.mark.parametrize("spec", ["drawdown", "k-decline", "patience", "gao-fit"])
@pytest.mark.parametrize("boundary", [True, False])
def test_the_budget_is_kept_on_exchangeable_runs(spec, boundary):
    """Averaged over many sets of 39 healthy runs; whole numbers and ties as well."""
    rule, fpr, n, horizon = DETECTORS.build(spec), 0.1, 39, 8
    every = np.round(correlated(200 * n, horizon, seed=1), 1)
    fresh = scan(rule, Runs(np.round(correlated(20_000, horizon, seed=2), 1)))
    rates = []
    for known in every.reshape(200, n, horizon):
        found = null_of(known, detector=rule).calibrate(fpr, horizon, boundary=boundary)
        alarms = first_alarm(fresh, found.threshold)
        rates.append([np.mean((alarms >= 0) & (alarms < h)) for h in (horizon // 2, horizon)])
    half, whole = np.mean(rates, axis=0)
    error = 4 * np.std(rates, axis=0) / np.sqrt(200)
    assert whole <= fpr + error[1]
    if boundary:
        assert half <= fpr / 2 + error[0]
    assert found.realised == pytest.approx(0.1)
    if spec == "gao-fit":  # no ties: all of it is spent, and as unevenly as said
        assert whole >= fpr - error[1]
        low, high = np.quantile(np.array(rates)[:, 1], [0.025, 0.975])
        assert found.interval == pytest.approx((low, high), abs=0.03)


def test_the_unit_is_a_run_with_all_its_metrics():
    def curves(run, source, *metrics):
        steps = np.arange(1.0, 5)
        return [
            Curve(run, f"m{i}", "eval", higher, steps, np.array(values), source=source)
            for i, (higher, values) in enumerate(metrics)
        ]

    rises, falls = [0.0, 1, 2, 3], [0.0, -1, -2, -3.5]
    found = eval_runs(
        Reading(
            curves=[
                *curves("a", "x", (True, rises), (True, falls)),
                *curves("a", "y", (True, rises), (False, rises)),
                *curves("b", "x", (True, rises)),
            ]
        )
    )
    null = HealthyNull.of(DRAWDOWN, found)
    assert null.sample(4).within(4).max(axis=1).tolist() == [3.5, 3.0, 0.0]
    assert null.sample(4).within(2).max(axis=1).tolist() == [1.0, 1.0, 0.0]


def test_only_runs_of_that_length_say_something():
    """Evals that lack a number are no evals."""
    scores = correlated(60, 10, seed=3)
    scores[:20, 6:] = np.nan
    scores[20:40, 2] = np.nan
    null = null_of(scores)
    assert len(null.sample(6).within(6)) == 60
    assert len(null.sample(7).within(7)) == 40
    assert len(null.sample(10).within(10)) == 20
    found = null.calibrate(0.05, 9)
    gapless = np.delete(scores[20:40], 2, axis=1)
    largest = np.concatenate(
        [scan(DRAWDOWN, Runs(s[:, :9])).max(axis=1) for s in (gapless, scores[40:])]
    )
    assert found.threshold == matched_threshold(largest, 0.05)
    assert (found.runs, found.seed, found.method) == (40, None, "conformal")
    assert "exchangeable with 40 healthy runs" in found.promise
    assert null.p_value(found.threshold, 9) == 2 / 41
    assert null.p_value(np.inf, 11) == 1  # nobody knows


@pytest.mark.parametrize(
    ("n", "fpr", "says"),
    [
        (18, 0.05, "needs 19 healthy runs of at least 8 evals, there are 18 "),
        (18, 0.05, "--fpr 0.053 or more"),
        (0, 0.05, r"there are 0 \(5 shorter\); add runs, or a smaller --horizon"),
        (60, 0.015, r"needs 66 .* there are 60 \(5 shorter\)"),
    ],
)
def test_too_few_are_refused_with_the_number_needed(n, fpr, says):
    scores = correlated(n + 5, 8, seed=4)
    scores[n:, 5:] = np.nan
    with pytest.raises(UserError, match=says):
        null_of(scores).calibrate(fpr, 8)


def test_blocks_of_long_runs():
    scores = correlated(4, 67, seed=5)
    scores[0, 20] = np.nan
    with pytest.raises(UserError, match=r"needs 19 healthy runs of at least 10 evals, .* are 4"):
        null_of(scores).calibrate(0.05, 10)
    null = null_of(scores, blocks=True)
    found = null.calibrate(0.05, 10)
    assert found.runs == 24  # the rest of 7 (or 6) evals is lost
    cut = [np.delete(scores[0], 20)[:60], *(s[:60] for s in scores[1:])]
    largest = scan(DRAWDOWN, Runs(np.concatenate(cut).reshape(24, 10))).max(axis=1)
    assert found.threshold == matched_threshold(largest, 0.05)
    assert "and 24 blocks of healthy runs are exchangeable" in found.promise
    with pytest.raises(UserError, match=r"needs 19 healthy blocks of at least 20 evals, .* are 12"):
        null.calibrate(0.05, 20)
    assert null.p_value(np.inf, 20) == 1 / 13


def test_blocks_of_the_metrics_of_one_run_are_one_unit():
    scores = correlated(2, 12, seed=6)
    null = null_of(scores, groups=[0, 0], blocks=True)
    blocks = scan(DRAWDOWN, Runs(scores.reshape(6, 4))).max(axis=1).reshape(2, 3)
    assert null.sample(4).within(4).max(axis=1).tolist() == blocks.max(axis=0).tolist()


@given(n=st.integers(5, 60), spent=st.integers(1, 4), seed=st.integers(0, 1000))
def test_the_interval_is_that_of_order_statistics(n, spent, seed):
    from scipy.stats import beta

    low, high = rate_interval(spent, n)
    law = beta(spent, n + 1 - spent)
    assert (low, high) == pytest.approx(law.ppf([0.025, 0.975]).tolist(), rel=1e-9)
    # Uniform statistics: the rate is what is left above the level.
    known = np.random.default_rng(seed).random((400, n))
    rates = 1 - np.sort(known, axis=1)[:, n - spent]
    assert rates.mean() == pytest.approx(law.mean(), abs=4 * law.std() / 20)


def test_every_channel_is_packed_alike():
    runs = Runs.of([[1, np.nan, 3], [4, 5]], loss=[[1, 2, 3], [np.nan, 5]])
    of_score, of_both = packed(runs, ("score",)), packed(runs, ("score", "loss"))
    assert of_score.n_evals.tolist() == [2, 2]
    assert of_score.score[0, :2].tolist() == [1, 3]
    assert of_score.loss[0, :2].tolist() == [1, 3]
    assert of_both.n_evals.tolist() == [2, 1]
    assert (of_both.score[1, 0], of_both.loss[1, 0]) == (5, 5)
