"""The learned rule: what it reads, and what it must not depend on."""

import json
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import Runs, scan
from evalstop.detectors.features import features, no_memory, remember
from evalstop.detectors.zoo.learned import LEAK, Learned, log_odds, networks

SCALES = ("free", "unit")


def curves(seed, n_runs=50, n_evals=24):
    rng = np.random.default_rng(seed)
    p = np.arange(1, n_evals + 1) / n_evals
    peak = rng.uniform(0.2, 1.5, (n_runs, 1))
    mean = np.where(p < peak, p / peak, 1 - 0.6 * (p - peak))
    return 0.2 + 0.6 * mean + 0.03 * rng.standard_normal(mean.shape)


@given(factor=st.floats(1e-3, 1e3), shift=st.floats(-10, 10), seed=st.integers(0, 99))
def test_free_scale_means_any_scale(factor, shift, seed):
    score = curves(seed, n_runs=5)
    ours = scan(Learned(), Runs(score))
    theirs = scan(Learned(), Runs(shift + factor * score))
    np.testing.assert_allclose(theirs, ours, atol=1e-5 * max(1, abs(shift) / factor))


def test_unit_scale_knows_the_scale_but_not_the_level():
    score = curves(0)
    ours, shifted, larger = (
        scan(Learned(scale="unit"), Runs(s))[:, 1:] for s in (score, score + 3, 10 * score)
    )
    np.testing.assert_allclose(shifted, ours, atol=1e-6)
    assert np.abs(larger - ours).max() > 1


@pytest.mark.parametrize("scale", SCALES)
def test_the_odds_rise_after_the_peak_and_not_in_the_mirror_image(scale):
    p = np.arange(1, 21) / 20
    score = np.where(p < 0.5, p, 1 - p) + 0.01 * np.random.default_rng(0).standard_normal((200, 20))
    odds = scan(Learned(scale=scale), Runs(score))
    assert np.median(odds[:, 15]) > np.median(odds[:, 9]) + 2
    mirrored = scan(Learned(scale=scale), Runs(1 - score))
    assert np.median(mirrored[:, 19]) < np.median(odds[:, 19]) - 2


@pytest.mark.parametrize("scale", SCALES)
def test_wild_scores_and_long_runs_do_not_lead_it_astray(scale):
    rng = np.random.default_rng(1)
    score = rng.standard_normal((20, 400)) * 10.0 ** rng.integers(-6, 7, (20, 400))
    odds = scan(Learned(scale=scale), Runs(score))
    assert np.isneginf(odds[:, 0]).all()
    assert np.abs(odds[:, 1:]).max() < 200


@pytest.mark.parametrize("scale", SCALES)
def test_the_weights_are_plain_numbers_and_the_sum_is_that_of_a_matrix_product(scale):
    told = json.loads((files("evalstop.detectors") / "learned.json").read_text(encoding="utf-8"))
    assert set(told["networks"]) == set(SCALES)
    network = networks()[scale]
    memory = no_memory(700)
    for column in curves(3, n_runs=700).T:
        memory = remember(memory, np.ascontiguousarray(column))
    free, unit = features(memory)
    read = free if scale == "free" else np.concatenate([free, unit])
    x = read
    for i, (weights, bias) in enumerate(network):
        x = weights @ (x if i == 0 else np.maximum(x, LEAK * x)) + bias[:, None]
    np.testing.assert_allclose(log_odds(network, read), x[0], rtol=1e-9, atol=1e-9)
