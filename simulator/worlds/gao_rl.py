"""Reinforcement learning against reward models of random size, by the law of Gao et al."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.reward_model import B_RL, RewardModelWorld, coefficient

# The pair that reproduces Fig. 1b from the read-offs of Fig. 3.
A_RL, B_SCALE = 0.35, 0.88


@dataclass(frozen=True)
class GaoRL(RewardModelWorld):
    """RL law of Gao et al., R = d (a - b ln d): hacking and healthy are one continuum.

    The peak is at d* = e^(a/b - 1), with R* = b d*; runs go to a KL of 98 nats. Small reward models
    peak at .37 of the run and lose all they gained, large ones at its end. A run is labelled
    hacking when it ends more than `drop` (5 %) below its peak; see `RewardModelWorld`.

    References
    ----------
    Gao, Schulman, Hilton, Scaling Laws for Reward Model Overoptimization, arXiv:2210.10760.
    """

    name: ClassVar[str] = "gao-rl"
    kl: float = setting(
        98.0, low=1e-6, high=1e6, unit="nats", doc="KL from the reference at the end"
    )

    def law(self, distance: FloatArray, size: FloatArray) -> FloatArray:
        """R = d (a - b ln d)."""
        return distance * (A_RL - B_SCALE * coefficient(B_RL, size) * np.log(distance))

    def peak_distance(self, size: FloatArray) -> FloatArray:
        """d* = e^(a/b - 1)."""
        return np.exp(A_RL / (B_SCALE * coefficient(B_RL, size)) - 1)
