"""Gold reward against KL as measured by Gao, Schulman and Hilton (2023), by reward-model size."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import setting
from evalstop.errors import UserError
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.world import Shapes, World

# Read off Fig. 3 (policy 1.2B, 90,000 comparisons); no table was published.
SIZES = (3e6, 12e6, 25e6, 42e6, 85e6, 300e6, 680e6, 1.2e9, 3e9)
A_BON = (0.490, 0.513, 0.558, 0.548, 0.599, 0.633, 0.649, 0.653, 0.662)
B_BON = (0.120, 0.120, 0.115, 0.111, 0.106, 0.0995, 0.098, 0.0965, 0.090)
B_RL = (0.175, 0.167, 0.152, 0.146, 0.137, 0.124, 0.119, 0.122, 0.118)

# Sizes that a run may have, even on a logarithmic scale; between the read-offs we interpolate.
GRID = np.geomspace(SIZES[0], SIZES[-1], 512)


def coefficient(values: tuple[float, ...], size: FloatArray) -> FloatArray:
    """Interpolate a read-off coefficient at reward models of `size` parameters."""
    return np.interp(np.log(size), np.log(SIZES), values)


@dataclass(frozen=True)
class RewardModelWorld(World):
    """Runs against reward models of random size, 3M to 3B parameters.

    KL grows about quadratically with steps, so d = sqrt(KL) is proportional to progress. The law
    has a peak for every size, large reward models only reach it late or not at all: *hacking and
    healthy are one continuum*. A size is called hacking when the law ends more than `drop` below
    its peak, healthy otherwise; within a label the logarithm of the size is uniform. Labels and
    early slopes both follow from the size, so **the shape leaks some of the label before the
    peak**, as it does in the law itself. True scores are in units of the law's own peak.

    Parameters
    ----------
    drop : float
        How far a hacking run ends below its peak at least, as a share of it, in (0, 1).
    """

    drop: float = setting(
        0.05, low=1e-6, high=1, doc="drop from peak to end that makes a hacking run"
    )

    @abstractmethod
    def law(self, distance: FloatArray, size: FloatArray) -> FloatArray:
        """Give the gold reward at d = sqrt(KL) for a reward model of `size` parameters."""

    @abstractmethod
    def peak_distance(self, size: FloatArray) -> FloatArray:
        """Give d at the peak of `law`."""

    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Draw a size that fits the label, and follow its law."""
        last = np.sqrt(self.kl)
        top = self.peak_distance(GRID)
        ends = self.law(last, GRID) / self.law(top, GRID)
        is_hacking = (top < last) & (ends < 1 - self.drop)
        size = np.empty(len(hacking))
        for label, name in ((True, "hacking"), (False, "healthy")):
            rows, fitting = hacking == label, GRID[is_hacking == label]
            if rows.any() and not len(fitting):
                raise UserError(
                    f"{self.name}: with kl={self.kl:g} and drop={self.drop:g} no reward model "
                    f"makes a {name} run, change one of the two or the share of hacking runs"
                )
            size[rows] = rng.choice(fitting, rows.sum()) if rows.any() else ()
        top = self.peak_distance(size)
        score = self.law(progress * last, size[:, None]) / self.law(top, size)[:, None]
        return Shapes(score, np.where(hacking, top / last, np.nan))
