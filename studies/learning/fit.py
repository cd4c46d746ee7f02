"""Fit a network to examples of many worlds: what tells runs apart *within* a world.

The loss is the cross-entropy of ``S - b[w]``: S is the network, b[w] a number for each training
world that exists only here. So S needs not know how many runs of a world have passed their peak, or
how noisy it is, which a threshold takes care of; it learns to rank.
"""

import numpy as np
from numpy.typing import NDArray

from evalstop.studies.learning.examples import Examples
from evalstop.studies.learning.network import Adam, Array, Network, batches

HIDDEN = (48, 24)
BATCH = 4096
RATE = 3e-3
# Evals before the peak count threefold: the rule works where false alarms are rare.
BEFORE_PEAK = 3.0
# The step of b is larger than that of the weights: each example moves only one of its numbers.
BIAS_RATE = 30.0


def fit(examples: Examples, columns: NDArray[np.int64], seed: int, epochs: int) -> list[Array]:
    """Give the weights and biases of the layers, in turn; the mean of b is taken off the last one.

    Parameters
    ----------
    columns : int array
        Which features the network reads.
    """
    rng = np.random.default_rng(seed)
    network = Network(rng, (len(columns), *HIDDEN, 1))
    adam = Adam(network.parameters)
    n_worlds = int(examples.world.max()) + 1
    bias = np.zeros(n_worlds, np.float32)
    steps, step = epochs * (len(examples.read) // BATCH), 0
    for _ in range(epochs):
        for rows in batches(rng, len(examples.read), BATCH):
            passed, world = examples.passed[rows], examples.world[rows]
            weight = np.where(passed > 0, 1, BEFORE_PEAK) * examples.weight[rows]
            odds, read = network.forward(examples.read[rows][:, columns].astype(np.float32))
            chance = 1 / (1 + np.exp(-np.clip(odds - bias[world], -30, 30)))
            slope = ((chance - passed) * weight / weight.sum()).astype(np.float32)
            rate = RATE * (1 + np.cos(np.pi * step / steps)) / 2 + 1e-5
            adam.step(network.gradients(read, slope), rate)
            pull = np.bincount(world, -slope, n_worlds) * n_worlds / 2
            bias -= (np.clip(pull, -1, 1) * rate * BIAS_RATE).astype(np.float32)
            step += 1
    network.parameters[-1] -= bias.mean()
    return network.parameters
