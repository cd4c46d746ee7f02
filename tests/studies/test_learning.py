"""Learning: labels, gradients and the search, on small examples; not the training itself."""

import dataclasses

import numpy as np
import pytest

from evalstop.studies.learning.examples import draw_examples
from evalstop.studies.learning.fit import fit
from evalstop.studies.learning.network import Network
from evalstop.studies.learning.shapes import LONGEST, SHORTEST, random_world
from evalstop.studies.learning.tune import draw_cells, saved, search, worlds

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


def test_a_little_learning_saves_more_than_none_and_terms_do_no_harm():
    examples = draw_examples(5, 40, 60, gao=0.3)
    assert examples.read.shape[0] == len(examples.passed) == len(examples.world)
    columns = np.arange(examples.read.shape[1])
    learned, untrained = fit(examples, columns, 0, epochs=6), fit(examples, columns, 0, epochs=0)
    some, terms = worlds(9)[33:37], np.arange(6)
    alone = [
        saved(draw_cells(some, layers, columns, terms, 3), None, np.zeros(6)).singles
        for layers in (untrained, learned)
    ]
    assert alone[1] > alone[0] + 0.05
    cells = draw_cells(some, learned, columns, terms, 3)
    weights = search(cells, None, 6, seed=0, generations=2)
    assert saved(cells, None, weights).value >= saved(cells, None, np.zeros(6)).value
