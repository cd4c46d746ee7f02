"""A small network in numpy, trained by Adam: nothing that needs more than this package has."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
LEAK = 0.1


class Network:
    """Layers ``y = leaky(W x + b)``, the last one linear with one output."""

    def __init__(self, rng: np.random.Generator, sizes: tuple[int, ...]) -> None:
        self.parameters: list[Array] = []
        for inputs, outputs in pairwise(sizes):
            spread = np.sqrt(2 / inputs) if outputs > 1 else 0.1 / np.sqrt(inputs)
            weights = spread * rng.standard_normal((inputs, outputs))
            self.parameters += [weights.astype(np.float32), np.zeros(outputs, np.float32)]

    def forward(self, x: Array) -> tuple[Array, list[Array]]:
        """Give the output ``(n,)`` and what every layer read."""
        read = []
        for i in range(0, len(self.parameters), 2):
            read.append(x)
            x = x @ self.parameters[i] + self.parameters[i + 1]
            if i + 2 < len(self.parameters):
                x = np.maximum(x, LEAK * x)
        return x[:, 0], read

    def gradients(self, read: list[Array], slope: Array) -> list[Array]:
        """Give the gradient of every parameter, `slope` being that of the output ``(n,)``."""
        found: list[Array] = []
        back = slope[:, None]
        for layer in range(len(read) - 1, -1, -1):
            x = read[layer]
            found = [x.T @ back, back.sum(axis=0), *found]
            if layer:
                back = back @ self.parameters[2 * layer].T
                back *= np.where(x > 0, np.float32(1), np.float32(LEAK))
        return found


class Adam:
    """Adam with the usual constants (Kingma & Ba 2015, arXiv:1412.6980)."""

    def __init__(self, parameters: list[Array]) -> None:
        self.parameters = parameters
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]
        self.steps = 0

    def step(self, gradients: list[Array], rate: float) -> None:
        """Move all parameters, in place."""
        self.steps += 1
        rate *= np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for i, gradient in enumerate(gradients):
            self.first[i] += 0.1 * (gradient - self.first[i])
            self.second[i] += 0.001 * (gradient**2 - self.second[i])
            root = np.sqrt(self.second[i]) + np.float32(1e-8)
            self.parameters[i] -= np.float32(rate) * self.first[i] / root


def batches(rng: np.random.Generator, n: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Go once through `n` rows in random order."""
    order = rng.permutation(n)
    for start in range(0, n - size + 1, size):
        yield order[start : start + size]
