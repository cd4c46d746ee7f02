"""BOCPD against a golden posterior and against the definition, written out."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstop.detectors import Observation, Runs, scan
from evalstop.detectors.student import student_cdf
from evalstop.detectors.zoo.bocpd import Bocpd

NILE = json.loads((Path(__file__).parents[1] / "data" / "golden" / "bocpd_nile.json").read_text())[
    "data"
]
RAW = {"mean": 0.0, "sigma": 1.0}  # scores are taken as they are


def test_posterior_on_the_nile_agrees_with_two_independent_programs():
    prior = {name: NILE[name] for name in ("mu", "kappa", "alpha", "beta")}
    rule = Bocpd(hazard=NILE["H"], max_run_length=len(NILE["x"]), **prior, **RAW)
    ours = rule.run_length_posterior(NILE["x"])
    exact = {"rtol": 0, "atol": 1e-12}
    for t, theirs in NILE["posterior"].items():
        np.testing.assert_allclose(ours[int(t), : len(theirs)], theirs, **exact)
        assert not ours[int(t), len(theirs) :].any()
    np.testing.assert_allclose(ours[:, 0], NILE["p_r0"], **exact)
    np.testing.assert_allclose(ours[:, :6].sum(axis=1), NILE["p_run_le_5"], **exact)
    expected = ours @ np.arange(ours.shape[1])
    np.testing.assert_allclose(expected, NILE["expected_run_length"], rtol=1e-12)
    assert (ours.argmax(axis=1) == NILE["map_run_length"]).all()


@pytest.mark.parametrize("seed", range(3))
def test_posterior_is_that_of_the_peer(seed):
    peer = pytest.importorskip(
        "bayesian_changepoint_detection.online_changepoint_detection",
        reason="bayesian-changepoint-detection is in the extra 'peers'",
    )
    scores = np.random.default_rng(seed).normal(np.repeat([0, 2, -1], 20), 1.0)
    prior = peer.StudentT(2.0, 0.5, 0.3, -1.0)
    theirs, _ = peer.online_changepoint_detection(scores, lambda r: np.full(r.shape, 0.1), prior)
    rule = Bocpd(0.1, len(scores), mu=-1.0, kappa=0.3, alpha=2.0, beta=0.5, **RAW)
    ours = rule.run_length_posterior(scores)
    np.testing.assert_allclose(ours, theirs.T[1:], rtol=0, atol=1e-12)


def written_out(rule, scores):
    """Posterior of the length and statistic after every score, by scipy's distributions."""

    def segment(values):
        kappa, alpha = rule.kappa + len(values), rule.alpha + len(values) / 2
        mu, beta = rule.mu, rule.beta
        for i, value in enumerate(values):
            weight = (rule.kappa + i) / (rule.kappa + i + 1)
            beta += weight * (value - mu) ** 2 / 2
            mu += (value - mu) / (rule.kappa + i + 1)
        return mu, kappa, alpha, beta

    joint, before, posteriors, statistics = {0: 1.0}, {0: None}, [], []
    for t in range(1, len(scores) + 1):
        grown = {}
        for length, p in joint.items():
            mu, kappa, alpha, beta = segment(scores[t - 1 - length : t - 1])
            width = math.sqrt(beta * (kappa + 1) / (alpha * kappa))
            grown[length + 1] = p * stats.t.pdf(scores[t - 1], 2 * alpha, mu, width)
        evidence = sum(grown.values())
        grown = {length: p / evidence for length, p in grown.items()}
        before = {length + 1: mean for length, mean in before.items()}
        declined = ended = 0.0
        for length, p in grown.items():
            mu, kappa, alpha, beta = segment(scores[t - length : t])
            ended += p * mu
            if before[length] is not None:
                width = math.sqrt(beta / (alpha * kappa))
                declined += p * stats.t.cdf(before[length], 2 * alpha, mu, width)
        statistics.append(math.log(declined / (1 - declined)) if declined else -math.inf)
        joint = {0: rule.hazard, **{r: p * (1 - rule.hazard) for r, p in grown.items()}}
        before[0] = ended
        posteriors.append([joint.get(r, 0.0) for r in range(rule.max_run_length + 1)])
    return posteriors, statistics


@settings(max_examples=12)
@given(
    scores=st.lists(st.floats(-3, 3), min_size=1, max_size=7),
    hazard=st.floats(0.01, 0.9),
    kappa=st.floats(0.1, 3),
    alpha=st.sampled_from([0.5, 1.0, 1.3, 2.5]),
    beta=st.floats(0.1, 3),
)
def test_posterior_and_statistic_are_the_definition(scores, hazard, kappa, alpha, beta):
    rule = Bocpd(hazard, 10, mu=0.3, kappa=kappa, alpha=alpha, beta=beta, **RAW)
    posteriors, statistics = written_out(rule, scores)
    np.testing.assert_allclose(rule.run_length_posterior(scores), posteriors, atol=1e-12)
    np.testing.assert_allclose(scan(rule, Runs.of([scores]))[0], statistics, rtol=1e-8, atol=1e-8)


@given(scores=st.lists(st.floats(-5, 5), min_size=12, max_size=40), longest=st.integers(2, 8))
def test_a_bound_keeps_a_distribution_and_the_short_past(scores, longest):
    bounded = Bocpd(max_run_length=longest, **RAW).run_length_posterior(scores)
    whole = Bocpd(max_run_length=60, **RAW).run_length_posterior(scores)
    np.testing.assert_allclose(bounded.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(bounded[: longest - 1, :longest], whole[: longest - 1, :longest])


def longest_segment(rule, scores):
    """Posterior mean and variance of the longest segment after all scores, and its probability."""
    state = rule.init(1)
    for score in scores:
        state, _ = rule.step(state, Observation(score=np.array([score])))
    log_p, mu, beta, _ = (part[0, -1] for part in state.segments)
    return mu, beta / (rule.alpha + rule.max_run_length / 2), np.exp(log_p)


def test_the_longest_segment_fades_and_gives_way_to_a_new_one():
    rule = Bocpd(max_run_length=10, hazard=0.01, **RAW)
    scores = np.random.default_rng(3).normal(np.repeat([0.0, 20.0], [300, 14]), 2.0)
    mu, variance, p = longest_segment(rule, scores[:300])
    assert abs(mu) < 2
    assert 2 < variance < 7
    assert p > 0.5
    assert rule.run_length_posterior(scores)[307].argmax() == 8
    mu, _, p = longest_segment(rule, scores)
    assert abs(mu - 20) < 2
    assert p > 0.5


def test_a_fall_is_suspicious_and_a_rise_is_not():
    noise = np.random.default_rng(2).standard_normal((200, 16)) * 0.1
    step = np.where(np.arange(16) < 10, 1.0, 0.5)
    fallen, risen = (scan(Bocpd(), Runs(curve + noise))[:, -1] for curve in (step, 1.5 - step))
    assert np.quantile(fallen, 0.05) > np.quantile(risen, 0.95)
    assert np.median(fallen) > 1
    assert np.median(risen) < -1


def test_nothing_is_judged_before_a_segment_can_have_ended():
    assert scan(Bocpd(), Runs(np.array([[0.5, 0.4]])))[0, 0] == -np.inf


@pytest.mark.parametrize("first", [0.4, 1.0])
def test_students_distribution(first):
    df = first + np.arange(40.0)
    x = np.random.default_rng(0).standard_cauchy((40, 50))
    expected = stats.t.cdf(np.sqrt(df)[:, None] * x, df[:, None])
    np.testing.assert_allclose(student_cdf(df, x), expected, rtol=0, atol=1e-13)
