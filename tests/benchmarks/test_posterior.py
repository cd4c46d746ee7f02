"""The oracle posterior: exact, calibrated, and what the paper's preset says it saves."""

import numpy as np
import pytest

from evalstop.benchmarks.matched import largest_statistics, matched_threshold
from evalstop.benchmarks.population import LabelledRuns
from evalstop.benchmarks.posterior import OraclePosterior
from evalstop.benchmarks.scores import score
from evalstop.detectors import first_alarm
from evalstop.errors import UserError
from evalstop.simulator.worlds import build_world
from evalstop.simulator.worlds.noise import SPIKE


def test_it_saves_what_the_preset_says_on_the_papers_world():
    # Golden: 20,000 runs, 2.425 % of the healthy ones stopped, saved .5259, recall .97825.
    world, rule, rng = (
        build_world("paper"),
        OraclePosterior(templates=6000),
        np.random.default_rng(5),
    )
    n = 2000
    healthy = world.draw(rng, np.full(n, "RLHF"), np.full(n, False))
    hacking = world.draw(rng, np.full(n, "RLHF"), np.full(n, True))
    largest = largest_statistics(
        rule.statistics(world, healthy), healthy.runs.n_evals, last_counts=False
    )
    threshold = matched_threshold(largest, 0.02425)
    alarms = first_alarm(rule.statistics(world, hacking), threshold)
    alarms = np.where(alarms == world.n - 1, -1, alarms)
    told = score(LabelledRuns.of_world(hacking), alarms)
    assert told.saved_any == pytest.approx(0.5259, abs=0.02)
    assert told.recall_before_last == pytest.approx(0.97825, abs=0.012)
    assert told.premature < 0.002
    assert rule.lowest(world) < threshold


@pytest.mark.parametrize(
    "spec",
    ["paper", "ar1", "spiky", "paper:tail=3", "wild:n=12", "gao-law", "real-noise", "ar1:tail=4"],
)
def test_its_probabilities_come_true(spec):
    """Of the evals to which it gives odds, the share that is past its peak is what it says."""
    world, rng = build_world(spec), np.random.default_rng(3)
    runs = world.population(rng, 800)
    odds = OraclePosterior(templates=4000, seed=1).statistics(world, runs)
    valid = np.arange(world.n) < runs.runs.n_evals[:, None]
    assert np.isneginf(odds[~valid]).all()
    past = runs.truth.hacking[:, None] & (runs.runs.progress >= runs.truth.peak[:, None])
    said = 1 / (1 + np.exp(-odds[valid]))
    for low, high in ((0, 0.2), (0.2, 0.8), (0.8, 1.01)):
        within = (said >= low) & (said < high)
        assert within.sum() > 100
        assert said[within].mean() == pytest.approx(past[valid][within].mean(), abs=0.05)


@pytest.mark.parametrize("spec", ["paper:hacking=.3", "ar1", "spiky", "paper:tail=3"])
def test_it_is_bayes_rule(spec):
    """Beside a plain loop over the same bank."""
    world, rule = build_world(spec), OraclePosterior(templates=40, seed=7)
    runs = world.population(np.random.default_rng(1), 5)
    n, (rho,) = world.n, world.rho
    progress = np.tile(np.arange(1, n + 1) / n, (40, 1))
    hacking = np.arange(40) % 2 == 1
    bank = world.templates(np.random.default_rng([7, n]), progress, hacking)

    def density(z):
        def usual(z):
            if np.isinf(world.tail):
                return np.exp(-(z**2) / 2)
            return (1 + z**2 / (world.tail - 2)) ** (-(world.tail + 1) / 2)

        spikes = world.spikes
        return (1 - spikes) * usual(z) + spikes * usual(z / SPIKE) / SPIKE

    expected = np.empty((5, n))
    for run, scores in enumerate(runs.runs.score):
        weights = np.where(hacking, world.hacking, 1 - world.hacking)
        before = 0.0
        for i in range(n):
            z = (scores[i] - bank.true[:, i]) / world.sigma
            fresh = (z - rho * before) / np.sqrt(1 - rho**2) if i else z
            weights, before = weights * density(fresh), z
            past = hacking & (progress[:, i] >= bank.peak)
            with np.errstate(divide="ignore"):
                expected[run, i] = np.log(weights[past].sum() / weights[~past].sum())
    found = rule.statistics(world, runs)
    assert np.array_equal(np.isneginf(found), np.isneginf(expected))
    told = np.isfinite(expected) & (np.abs(expected) < 40)  # beyond, weights are cut off
    assert told.sum() > 10
    np.testing.assert_allclose(found[told], expected[told], rtol=1e-3, atol=1e-2)


def test_it_waits_where_a_label_is_known_before_the_peak():
    assert OraclePosterior(templates=1000).lowest(build_world("gao-law:sigma=.01")) > 0


def test_noise_without_a_likelihood_is_refused():
    world = build_world("ar1:spikes=.1")
    runs = world.population(np.random.default_rng(0), 3)
    with pytest.raises(UserError, match="rho and spikes"):
        OraclePosterior().statistics(world, runs)
