"""A sample of runs that should not be stopped: thresholds, boundaries and p-values from it."""

from dataclasses import dataclass, field

import numpy as np

from evalstop.detectors.calibration.boundary import spending_boundary
from evalstop.detectors.calibration.order import matched_threshold
from evalstop.detectors.observation import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sample:
    """What a detector says of runs that should not be stopped.

    Parameters
    ----------
    statistics : array (n_runs, n_evals)
        After every usable eval; ``-inf`` = cannot judge yet, or no such eval.
    n_evals : int array (n_runs,)
        Usable evals of each run.
    """

    statistics: FloatArray
    n_evals: IntArray
    _ascending: dict[int, FloatArray] = field(default_factory=dict)

    def within(self, horizon: int) -> FloatArray:
        """Give the statistics of the first evals of the runs that have so many."""
        return self.statistics[self.n_evals >= horizon, :horizon]

    def threshold(self, fpr: float, horizon: int) -> float:
        """Give the threshold at a rate; infinite if the statistic tells no run from another."""
        statistics = self.within(horizon)
        if _says_nothing(statistics):
            return np.inf
        return matched_threshold(statistics.max(axis=1), fpr)

    def boundary(self, fpr: float, horizon: int, *, spend_ties: bool) -> tuple[float, ...]:
        """Give the boundary that spends a rate evenly, see `spending_boundary`."""
        statistics = self.within(horizon)
        if _says_nothing(statistics):
            return (np.inf,) * horizon
        return tuple(spending_boundary(statistics, fpr, spend_ties=spend_ties).tolist())

    def p_value(self, observed: float, n_evals: int) -> float:
        """Give the chance that a run which should not be stopped shows as much within `n_evals`.

        Never 0: the run itself counts as one of the sample, so that with any number of runs
        P(p <= a) <= a.
        """
        if n_evals not in self._ascending:
            self._ascending[n_evals] = np.sort(self.within(n_evals).max(axis=1, initial=-np.inf))
        largest = self._ascending[n_evals]
        as_much = len(largest) - np.searchsorted(largest, observed)
        return float((1 + as_much) / (len(largest) + 1))


def _says_nothing(statistics: FloatArray) -> bool:
    told = statistics[statistics > -np.inf]
    return bool(told.size == 0 or (told == told[0]).all())
