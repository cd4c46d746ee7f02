"""Learning: labels, gradients and losses, on small examples; not the training itself."""

import dataclasses

import numpy as np
import pytest

from evalstop.studies.learning.alarms import SOFT, family_slopes, saved, see
from evalstop.studies.learning.examples import draw_examples, features_over_time
from evalstop.studies.learning.fit import fit, sharpen
from evalstop.studies.learning.network import Network
from evalstop.studies.learning.shapes import LONGEST, SHORTEST, random_family, random_world
from evalstop.studies.learning.validate import validate, worlds

QUIET = {
    "sigma": (1e-9, 1e-9),
    "relative": False,
    "rho": (0.0, 0.0),
    "spikes": 0.0,
    "tail": np.inf,
    "second": 0.0,
}


@pytest.mark.parametrize("seed", range(12))
def test_without_noise_the_score_is_highest_where_the_peak_is_said_to_be(seed):
    world = random_world(np.random.default_rng(seed), gao=0.3)
    assert SHORTEST <= world.n_evals <= LONGEST
    calm = dataclasses.replace(world, **QUIET, dip=0.0, n_evals=50)
    curves = calm.draw(np.random.default_rng(seed), 300)
    hacking = np.isfinite(curves.peak)
    assert 0.3 < hacking.mean() < 0.7
    progress = np.arange(1, 51) / 50
    best = progress[curves.score.argmax(axis=1)]
    before = curves.peak[:, None] + 1e-9 >= progress
    steps = np.diff(curves.score, axis=1)
    assert steps[hacking[:, None] & ~before[:, :-1]].max() < 1e-6  # after its peak no run rises
    assert np.all(best[hacking] <= curves.peak[hacking] + 0.02 + 1e-9)
    assert steps[~hacking].min() > -1e-6  # and no healthy run falls


def test_gradients_are_those_of_finite_differences():
    rng = np.random.default_rng(0)
    network = Network(rng, (5, 4, 3, 1))
    network.parameters = [p.astype(np.float64) for p in network.parameters]
    x, slope = rng.standard_normal((7, 5)), rng.standard_normal(7)
    _, read = network.forward(x)
    for parameter, gradient in zip(network.parameters, network.gradients(read, slope), strict=True):
        for place in np.ndindex(parameter.shape):
            kept = parameter[place]
            ends = []
            for step in (1e-6, -1e-6):
                parameter[place] = kept + step
                ends.append(network.forward(x)[0] @ slope)
            parameter[place] = kept
            # A leaky rectifier written for single precision: its leak is .1 to seven digits.
            assert np.isclose((ends[0] - ends[1]) / 2e-6, gradient[place], rtol=1e-4, atol=1e-6)


def family(seed, lengths=(7, 7, 5), n_runs=40):
    """Statistics of worlds that wander, and runs of which half have a peak."""
    rng = np.random.default_rng(seed)
    told = []
    for n in lengths:
        peak = np.where(rng.random(n_runs) < 0.5, rng.integers(0, n, n_runs), n)
        walk = 0.5 * rng.standard_normal((n, n_runs)).cumsum(axis=0)
        told.append((walk, np.arange(n)[:, None] >= peak))
    return told


def gain(told, weight):
    seen = [see(*world) for world in told]
    heights = np.array([w.threshold for w in seen])
    common = SOFT * np.log(np.exp(heights / SOFT).sum())
    own, one = (
        np.mean([saved(w, t)[0] for w, t in zip(seen, thresholds, strict=True)])
        for thresholds in (heights, [common] * len(seen))
    )
    return (1 - weight) * own + weight * one


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_slopes_of_alarms_are_those_of_finite_differences(weight):
    told, rng = family(3), np.random.default_rng(4)
    slopes = family_slopes([see(*world) for world in told], weight)
    assert max(np.abs(s).max() for s in slopes) > 1e-3
    for (statistics, _), slope in zip(told, slopes, strict=True):
        tops = np.argsort(-statistics.max(axis=0))[:4]
        places = [(statistics[:-1, r].argmax(), r) for r in tops]
        places += [tuple(rng.integers(0, s) for s in statistics.shape) for _ in range(60)]
        for place in places:
            kept = statistics[place]
            ends = []
            for step in (1e-6, -1e-6):
                statistics[place] = kept + step
                ends.append(gain(told, weight))
            statistics[place] = kept
            assert np.isclose((ends[0] - ends[1]) / 2e-6, slope[place], rtol=1e-4, atol=1e-8)


def test_alarms_before_the_peak_and_at_the_last_eval_save_nothing():
    statistics = np.full((5, 4), -50.0)
    statistics[0, 0] = statistics[2, 1] = statistics[4, 2] = 50.0  # early, in time, too late
    passed = np.arange(5)[:, None] >= np.array([1, 2, 2, 9])
    world = see(statistics, passed)
    told, _ = saved(world, 0.0)
    assert np.isclose(
        told, 2 / (4 + 3 + 3)
    )  # two evals before the last, of all that could be saved
    assert world.threshold == -50.0  # the only healthy run


def test_families_share_much_and_some_never_move():
    families = [random_family(np.random.default_rng([6, i]), 6) for i in range(60)]
    assert {len(f) for f in families} == {6}
    still = np.mean([f[-1].flat == 1.0 for f in families])
    assert 0.3 < still < 0.8
    for worlds_ in families:
        assert len({w.n_evals for w in worlds_}) <= 2
        drawn = [w.draw(np.random.default_rng(0), 5).score for w in worlds_]
        assert all(np.isfinite(score).all() for score in drawn)


def test_learning_evals_saves_more_than_nothing_and_learning_alarms_more_than_that():
    examples = draw_examples(5, 8, 6, 60)
    assert len(examples.read) == len(examples.passed) == examples.starts[-1]
    columns = np.arange(examples.read.shape[1])
    some = [*worlds(9)[20:24], worlds(9)[-1][:4]]

    def told(network):
        def judge(score):
            read = features_over_time(score).astype(np.float32)
            return np.stack([network.forward(x)[0] for x in read], axis=1).astype(float)

        return validate(judge, some, 3)

    network = fit(examples, columns, 0, epochs=0)
    untrained = told(network)
    network = fit(examples, columns, 0, epochs=4)
    evals = told(network)
    assert evals.singles > untrained.singles + 0.05
    sharpen(network, examples, columns, 0, epochs=6)
    alarms = told(network)
    assert alarms.own + alarms.shared > evals.own + evals.shared
