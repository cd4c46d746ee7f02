"""Fit a network to examples of many worlds: first to evals, then to alarms.

`fit` minimises the cross-entropy of ``S - b[w]``: S is the network, b[w] a number for each training
world that exists only here. So S needs not know how many runs of a world have passed their peak, or
how noisy it is, which a threshold takes care of; it learns to rank.

`sharpen` goes on from there with what a rule is for: what alarms save, at a threshold for each
world and at one for its family (see `evalstop.studies.learning.alarms`).
"""

import numpy as np
from numpy.typing import NDArray

from evalstop.studies.learning.alarms import family_slopes, see
from evalstop.studies.learning.examples import Examples
from evalstop.studies.learning.network import Adam, Network, batches

HIDDEN = (64, 32)
BATCH = 4096
RATE, ALARM_RATE = 3e-3, 1e-3
# Evals before the peak count threefold: the rule works where false alarms are rare.
BEFORE_PEAK = 3.0
# The step of b is larger than that of the weights: each example moves only one of its numbers.
BIAS_RATE = 30.0
# Of the loss of alarms, the share that one threshold for a family has.
SHARED = 0.5


def fit(examples: Examples, columns: NDArray[np.int64], seed: int, epochs: int) -> Network:
    """Learn from evals; the mean of b is taken off the last bias.

    Parameters
    ----------
    columns : int array
        Which features the network reads.
    """
    rng = np.random.default_rng(seed)
    network = Network(rng, (len(columns), *HIDDEN, 1))
    adam = Adam(network.parameters)
    n_worlds, n_rows = len(examples.starts) - 1, np.diff(examples.starts)
    owner = np.repeat(np.arange(n_worlds), n_rows)
    # Long runs count for more than short ones, but not in proportion.
    shares = (n_rows / examples.runs + 1) ** -0.5
    bias = np.zeros(n_worlds, np.float32)
    steps, step = epochs * (len(examples.read) // BATCH), 0
    for _ in range(epochs):
        for rows in batches(rng, len(examples.read), BATCH):
            passed, world = examples.passed[rows], owner[rows]
            weight = np.where(passed, 1, BEFORE_PEAK) * shares[world]
            odds, read = network.forward(examples.read[rows][:, columns].astype(np.float32))
            chance = 1 / (1 + np.exp(-np.clip(odds - bias[world], -30, 30)))
            slope = ((chance - passed) * weight / weight.sum()).astype(np.float32)
            rate = _falling(RATE, step, steps)
            adam.step(network.gradients(read, slope), rate)
            pull = np.bincount(world, -slope, n_worlds) * n_worlds / 2
            bias -= (np.clip(pull, -1, 1) * rate * BIAS_RATE).astype(np.float32)
            step += 1
    network.parameters[-1] -= bias.mean()
    return network


def sharpen(
    network: Network, examples: Examples, columns: NDArray[np.int64], seed: int, epochs: int
) -> None:
    """Learn from alarms, in place: a step for each family."""
    rng = np.random.default_rng(seed)
    adam = Adam(network.parameters)
    steps, step = epochs * examples.families, 0
    for _ in range(epochs):
        for family in rng.permutation(examples.families):
            first = family * examples.size
            starts = examples.starts[first : first + examples.size + 1]
            rows = slice(starts[0], starts[-1])
            odds, read = network.forward(examples.read[rows][:, columns].astype(np.float32))
            parts = [
                np.split(part, starts[1:-1] - starts[0]) for part in (odds, examples.passed[rows])
            ]
            worlds = [
                see(own.reshape(-1, examples.runs).astype(float), passed.reshape(-1, examples.runs))
                for own, passed in zip(*parts, strict=True)
            ]
            slopes = [slope.ravel() for slope in family_slopes(worlds, SHARED)]
            slope = -np.concatenate(slopes).astype(np.float32)
            adam.step(network.gradients(read, slope), _falling(ALARM_RATE, step, steps))
            step += 1


def _falling(rate: float, step: int, steps: int) -> float:
    """Give the rate at a step: half a cosine, down to almost nothing."""
    return rate * float(1 + np.cos(np.pi * step / steps)) / 2 + 1e-5
