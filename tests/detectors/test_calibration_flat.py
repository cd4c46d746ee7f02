"""Thresholds from flat noise: what they promise, of which noise, and what they need to be told."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Runs, first_alarm, scan
from evalstop.detectors.calibration import FlatNoise, FlatNull, flat
from evalstop.detectors.rules import inputs_of, is_discrete, is_monotone
from evalstop.detectors.settings import name_of
from evalstop.detectors.zoo import ZOO
from evalstop.errors import UserError

N = 10_000
FEW = FlatNoise(sigma=1, runs=N)
BLIND = ("never", "always")
MEMBERS = [
    *(name_of(c) for c in ZOO if inputs_of(c()) == ("score",) and name_of(c) not in BLIND),
    "k-decline:k=3,form=tolerance",
    "cusum:target=given,mean=0.3,sigma=1",
    "ewma:target=given,mean=0.3,sigma=1,limits=exact",
    "shiryaev-roberts:on=levels,target=given,mean=0.3,sigma=1",
    "slope-glr:sigma=1",
    "step-glr:sigma=1",
    "unimodal-glr:sigma=1",
    "e-process:sigma=1",
    "e-detector:sigma=1",
]
# Of the true rate, and of the threshold, which comes from as many runs.
SLACK = 4 * np.sqrt(2 * 0.05 * 0.95 / N)


def made(shape, *, mean=0.3, seed=99):
    return mean + np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("spec", MEMBERS)
def test_every_member_with_a_null_keeps_its_budget(spec):
    """On other runs than its own; continuous statistics use all of it."""
    rule = DETECTORS.build(spec)
    null = FlatNull(rule, FEW)
    statistics = scan(rule, Runs(made((N, 10))))
    rises = np.linspace(0, 2, 10) ** 2
    risen = scan(rule, Runs(rises + made((N, 10), seed=5))) if is_monotone(rule) else None
    for horizon in (6, 10):
        found = null.calibrate(0.05, horizon)
        alarms = (statistics[:, :horizon] >= found.threshold).any(axis=1).mean()
        assert alarms <= 0.05 + SLACK
        if not is_discrete(rule):
            assert alarms >= 0.05 - SLACK
        assert abs(alarms - found.realised) <= SLACK
        assert found.interval[0] <= found.realised <= found.interval[1]
        if risen is not None:
            assert (risen[:, :horizon] >= found.threshold).any(axis=1).mean() <= 0.05 + SLACK
    worst = "the worst of all that never fall" in found.promise
    assert worst == is_monotone(rule) != ("nothing is promised" in found.promise)


@pytest.mark.parametrize(
    "spec", ["drawdown", "slope-glr", "slope-glr:sigma=1", "mann-kendall", "k-decline", "bocpd"]
)
def test_a_boundary_keeps_its_spending_at_every_eval(spec):
    rule, horizon = DETECTORS.build(spec), 12
    found = FlatNull(rule, FEW).calibrate(0.1, horizon, boundary=True)
    assert len(found.threshold) == horizon
    alarms = first_alarm(scan(rule, Runs(made((4 * N, horizon)))), found.threshold)
    for n in range(1, horizon + 1):
        due = 0.1 * n / horizon
        spent = np.mean((alarms >= 0) & (alarms < n))
        assert spent <= due + 4 * np.sqrt(due / N * 1.25)
    assert is_discrete(rule) or spent >= 0.09
    assert f"within n evals n/{horizon} of that" in found.promise


def test_a_longer_horizon_begins_with_the_same_runs():
    for noise in (FEW, FlatNoise(noise="t3", rho=0.4, sigma=1, runs=N)):
        rule = DETECTORS.build("drawdown")
        long = FlatNull(rule, noise).sample(20).within(9)
        np.testing.assert_array_equal(long, FlatNull(rule, noise).sample(9).within(9))
        asked = FlatNull(rule, noise)
        grown = [asked.calibrate(0.05, n) for n in (5, 9, 20)]
        assert grown == [flat(rule, 0.05, n, noise) for n in (5, 9, 20)]


def test_a_seed_gives_a_threshold():
    rule = DETECTORS.build("ewma-drawdown")
    again = [flat(rule, 0.05, 8, FlatNoise(sigma=1, runs=2000, seed=s)) for s in (1, 1, 2)]
    assert again[0] == again[1]
    known = FlatNull(rule, FEW)
    largest = [known.sample(8, fresh=f).within(8).max(axis=1) for f in (False, True)]
    assert not np.intersect1d(*largest).any()  # what a threshold comes from does not measure it
    assert again[0].threshold != again[2].threshold
    assert (again[2].seed, again[2].runs) == (2, 2000)


@pytest.fixture(scope="module")
def nulls():
    specs = ("drawdown", "mann-kendall", "slope-glr")
    return {spec: FlatNull(DETECTORS.build(spec), FEW) for spec in specs}


@pytest.mark.parametrize("spec", ["drawdown", "mann-kendall", "slope-glr"])
@given(
    rates=st.tuples(st.floats(0.002, 0.6), st.floats(0.002, 0.6)).map(sorted),
    horizons=st.tuples(st.integers(3, 12), st.integers(3, 12)).map(sorted),
)
def test_a_tighter_budget_or_a_longer_run_never_lowers_the_threshold(nulls, spec, rates, horizons):
    sample = nulls[spec].sample(12)
    (low, high), (short, long) = rates, horizons
    assert sample.threshold(low, long) >= sample.threshold(high, long)
    assert sample.threshold(low, long) >= sample.threshold(low, short)
    p_values = [sample.p_value(sample.threshold(low, n), n) for n in horizons]
    assert max(p_values) <= low + 1e-9


@settings(max_examples=15)
@given(power=st.integers(-8, 8), shift=st.integers(-4, 4))
def test_scores_on_another_scale_have_the_threshold_on_that_scale(power, shift):
    """Powers of two, so that nothing is rounded."""
    scale = 2.0**power
    noise = FlatNoise(sigma=scale, runs=1000)

    def threshold(spec, noise):
        return flat(DETECTORS.build(spec), 0.1, 5, noise).threshold

    one = FlatNoise(sigma=1, runs=1000)
    drawdown = threshold("drawdown", noise)
    assert drawdown == pytest.approx(scale * threshold("drawdown", one), rel=1e-12)
    for spec in ("mann-kendall", "slope-glr", "k-decline"):
        assert threshold(spec, noise) == pytest.approx(threshold(spec, one), rel=1e-9)
    known = f"cusum:target=given,mean={shift},sigma={scale}"
    plain = FlatNoise(runs=1000)
    assert threshold(known, plain) == pytest.approx(
        threshold("cusum:target=given,sigma=1", plain), rel=1e-6
    )


def test_the_noise_level_is_found_out_never_guessed():
    def told(spec, **noise):
        return flat(DETECTORS.build(spec), 0.1, 5, FlatNoise(runs=1000, **noise)).assumptions

    assert "independent Gaussian noise of any size" in told("slope-glr")
    assert "of sd 0.2" in told("slope-glr:sigma=0.2")
    assert "of sd 0.3" in told("slope-glr:sigma=0.2", sigma=0.3)
    # So little noise that all of it is tolerated: it is the size that matters.
    assert "of sd 1e-06" in told("page-hinkley", sigma=1e-6)
    assert "AR(1) Gaussian noise of rho 0.3 of sd 0.2" in told("drawdown", sigma=0.2, rho=0.3)
    assert "independent Student t (3 df) noise" in told("slope-glr", noise="t3")
    assert told("mann-kendall", noise="t3").startswith("independent continuous noise")
    assert "a mean of 0.4, the worst of all that never fall from there" in told(
        "cusum:target=given,mean=0.4,sigma=1"
    )
    # It shows only on runs longer than what is asked about.
    for horizon in (1, 2, 5):
        with pytest.raises(UserError, match="give --sigma"):
            flat(DETECTORS.build("drawdown"), 0.1, horizon)
        with pytest.raises(UserError, match="give --sigma"):
            flat(DETECTORS.build("page-hinkley:min_evals=9"), 0.1, horizon)


@dataclass(frozen=True)
class LowScore:
    """An outsider whose statistic depends on the level of the scores."""

    name: ClassVar[str] = "low-score"

    def statistic(self, prefix):
        return -prefix[:, -1]


@dataclass(frozen=True)
class Unbounded(LowScore):
    """An outsider that breaks on some flat runs."""

    name: ClassVar[str] = "unbounded"

    def statistic(self, prefix):
        return np.where(prefix[:, -1] < prefix[:, 0], np.inf, 0.0)


def test_what_flat_noise_cannot_tell_is_refused():
    with pytest.raises(UserError, match="depends on the level of the scores"):
        flat(LowScore(), 0.1, 5, FEW)
    with pytest.raises(UserError, match="infinite"):
        flat(Unbounded(), 0.1, 5, FEW)
    for name, channel in [
        ("loss-plateau", "loss"),
        ("fixed-progress", "progress"),
        ("proxy-gap", "proxy"),
    ]:
        with pytest.raises(UserError, match=f"{name}: it reads the {channel}"):
            flat(DETECTORS.build(name), 0.1, 5)
    with pytest.raises(UserError, match="take at most runs=1000"):
        flat(DETECTORS.build("k-decline"), 0.1, 50_000)


@pytest.mark.parametrize(("name", "n"), [("never", 9), ("always", 9), ("mann-kendall", 2)])
@pytest.mark.parametrize("boundary", [True, False])
def test_a_statistic_that_tells_no_run_from_another_never_alarms(name, n, boundary):
    found = flat(DETECTORS.build(name), 0.1, n, FEW, boundary=boundary)
    assert np.isposinf(found.threshold).all()
    assert found.realised == 0
    assert not found.can_fire


@pytest.mark.parametrize(("noise", "worse"), [("t3", 1.0), ("gaussian", 1.0)])
def test_the_noise_that_is_asked_for_is_drawn(noise, worse):
    asked = FlatNoise(noise=noise, rho=0.6)
    drawn = asked.draw(np.random.SeedSequence(0), 100_000, 4)
    assert drawn.shape == (100_000, 4)
    for i in range(3):
        pair = drawn[:, i : i + 2].clip(-4, 4)
        assert np.corrcoef(pair.T)[0, 1] == pytest.approx(0.6, abs=0.06)
    assert drawn.std() == pytest.approx(worse, abs=0.15)
    heavy = np.mean(np.abs(drawn[:, 0]) > 4)
    assert (heavy > 0.002) == (noise == "t3")


def test_correlated_noise_needs_a_higher_threshold():
    rule = DETECTORS.build("mann-kendall")
    plain, correlated = (flat(rule, 0.05, 20, FlatNoise(rho=rho)) for rho in (0.0, 0.3))
    assert correlated.threshold > plain.threshold
    noise = FlatNoise(rho=0.3).draw(np.random.SeedSequence(7), 50_000, 20)
    largest = scan(rule, Runs(noise)).max(axis=1)
    # What a prototype measured: .139 instead of .05.
    assert np.mean(largest >= plain.threshold) == pytest.approx(0.139, abs=0.012)
    assert np.mean(largest >= correlated.threshold) <= 0.05 + 0.005


def test_p_values_are_those_of_the_sample():
    null = FlatNull(DETECTORS.build("drawdown"), FlatNoise(sigma=1, runs=1000))
    largest = null.sample(6).within(6).max(axis=1)
    assert null.p_value(np.inf, 6) == 1 / 1001
    assert null.p_value(float(np.median(largest)), 6) == pytest.approx(0.5, abs=0.002)
    assert null.p_value(-np.inf, 0) == 1
