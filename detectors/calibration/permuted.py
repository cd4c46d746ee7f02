"""Rules that use only the order of the scores (Mann-Kendall), by permutation."""

import itertools
import math
from dataclasses import replace

import numpy as np

from evalstop.detectors.calibration.certain import certain, refuse_boundary
from evalstop.detectors.calibration.counted import COUNTED
from evalstop.detectors.calibration.flat import FlatNull
from evalstop.detectors.calibration.flat_noise import FlatNoise
from evalstop.detectors.calibration.noise_level import flat_runs
from evalstop.detectors.calibration.record import Calibration, check_budget
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.rules import Detector
from evalstop.detectors.scan import scan

ENUMERATED = 9  # evals; 9! = 362,880 orders


class Permuted:
    """A rule that uses only the order of the scores, on all their orders or on random ones."""

    method = "exact"

    def __init__(self, detector: Detector, seed: int) -> None:
        self.detector = detector
        self._drawn = FlatNull(detector, FlatNoise(seed=seed))
        self._listed: dict[int, FloatArray] = {}

    def assumptions(self, horizon: int) -> str:
        """Nothing of the size and law of the noise."""
        noise = self._drawn.noise
        few = "all" if horizon <= ENUMERATED else f"{noise.runs} random"
        seed = "" if horizon <= ENUMERATED else f", seed {noise.seed}"
        return f"{COUNTED}; by {few} permutations{seed}"

    def calibrate(self, fpr: float, horizon: int, *, boundary: bool = False) -> Calibration:
        """Take the smallest threshold that few enough orders reach."""
        check_budget(fpr, horizon)
        refuse_boundary(self.detector, boundary)
        if horizon > ENUMERATED:
            found = self._drawn.calibrate(fpr, horizon)
            return replace(found, method=self.method, assumptions=self.assumptions(horizon))
        largest = self._largest(horizon)
        most = largest[len(largest) - math.floor(fpr * len(largest) + 1e-9) - 1]
        threshold = np.nextafter(most, np.inf) if most > -np.inf else np.inf
        realised = float(np.mean(largest >= threshold))
        told = self.assumptions(horizon)
        return replace(certain(self.detector, threshold, realised, horizon, told), nominal=fpr)

    def p_value(self, observed: float, n_evals: int) -> float:
        """Give the share of orders that show as much."""
        if n_evals > ENUMERATED:
            return self._drawn.p_value(observed, n_evals)
        return float(np.mean(self._largest(n_evals) >= observed))

    def _largest(self, n_evals: int) -> FloatArray:
        """Give the largest statistic of every order of so many scores, ascending."""
        if n_evals not in self._listed:
            orders = np.array(list(itertools.permutations(range(n_evals))), dtype=float)
            largest = scan(self.detector, flat_runs(orders)).max(axis=1, initial=-np.inf)
            self._listed[n_evals] = np.sort(largest)
        return self._listed[n_evals]
