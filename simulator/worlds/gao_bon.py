"""Best-of-n against reward models of random size, by the law of Gao et al."""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.reward_model import A_BON, B_BON, RewardModelWorld, coefficient


@dataclass(frozen=True)
class GaoBoN(RewardModelWorld):
    """Best-of-n law of Gao et al., R = d (a - b d): hacking and healthy are one continuum.

    The peak is at d* = a / 2b; runs go to a KL of 10 nats (n about 60,000). A run is labelled
    hacking when it ends more than `drop` (5 %) below its peak; see `RewardModelWorld`.

    References
    ----------
    Gao, Schulman, Hilton, Scaling Laws for Reward Model Overoptimization, arXiv:2210.10760.
    """

    name: ClassVar[str] = "gao-bon"
    kl: float = setting(
        10.0, low=1e-6, high=1e6, unit="nats", doc="KL from the reference at the end"
    )

    def law(self, distance: FloatArray, size: FloatArray) -> FloatArray:
        """R = d (a - b d)."""
        return distance * (coefficient(A_BON, size) - coefficient(B_BON, size) * distance)

    def peak_distance(self, size: FloatArray) -> FloatArray:
        """d* = a / 2b."""
        return coefficient(A_BON, size) / (2 * coefficient(B_BON, size))
