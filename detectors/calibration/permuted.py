"""Rules that use only the order of the scores (Mann-Kendall), by permutation.

On flat, independent, continuous noise all orders are equally likely, and that is all such a rule
sees, for any number of evals. Of a few evals all orders are listed. Of more, random ones are drawn:
a new run is one more of them, so a threshold that the n drawn and the new one reach c times on
average stops it with probability c / (n + 1), no matter how few were drawn.
"""

from dataclasses import replace

import numpy as np

from evalstop.detectors.calibration.certain import certain, refuse_boundary
from evalstop.detectors.calibration.counted import COUNTED
from evalstop.detectors.calibration.flat import MOST, FlatNull
from evalstop.detectors.calibration.flat_noise import FlatNoise
from evalstop.detectors.calibration.noise_level import flat_runs
from evalstop.detectors.calibration.order import alarms_allowed, order_rank
from evalstop.detectors.calibration.record import Calibration, check_budget
from evalstop.detectors.intervals import wilson
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.rules import Detector
from evalstop.detectors.scan import scan
from evalstop.detectors.settings import spec_of

LISTED = 9  # evals; 9! = 362,880 orders
# Random orders of up to so many evals; half as many of up to twice as many evals, and so on, so
# that a threshold takes about half a second whatever the length of the run.
DRAWN, OF_UP_TO = 50_000, 50
FEWEST = 1000


class Permuted:
    """A rule that uses only the order of the scores, on all their orders or on random ones."""

    method = "exact"

    def __init__(self, detector: Detector, seed: int) -> None:
        self.detector = detector
        self.seed = seed
        self._drawn: dict[int, FlatNull] = {}
        self._known: dict[int, FloatArray] = {}

    def assumptions(self, horizon: int) -> str:
        """Nothing of the size and law of the noise."""
        if horizon <= LISTED:
            return f"{COUNTED}; by all permutations"
        return f"{COUNTED}; by {orders_drawn(horizon)} random permutations, seed {self.seed}"

    def calibrate(self, fpr: float, horizon: int, *, boundary: bool = False) -> Calibration:
        """Take the smallest value of the statistic that few enough orders reach."""
        check_budget(fpr, horizon)
        refuse_boundary(self.detector, boundary)
        largest, told = self._largest(horizon), self.assumptions(horizon)
        n = len(largest)
        if horizon <= LISTED:
            most = largest[n - 1 - alarms_allowed(np.array(n - 1), fpr)]
            threshold = largest[largest > most].min(initial=np.inf)
            realised = float(np.mean(largest >= threshold))
            return replace(certain(self.detector, threshold, realised, horizon, told), nominal=fpr)
        most = largest[order_rank(np.array(n), fpr)]
        above = largest[largest > most]
        return Calibration(
            detector=spec_of(self.detector),
            threshold=float(above[0] if above.size else np.nextafter(most, np.inf)),
            nominal=fpr,
            realised=(above.size + 1) / (n + 1),
            interval=wilson(above.size + 1, n + 1),
            horizon=horizon,
            method=self.method,
            assumptions=told,
            runs=n,
            seed=self.seed,
        )

    def p_value(self, observed: float, n_evals: int) -> float:
        """Give the share of orders that show as much; a new one is one more of those drawn."""
        largest, more = self._largest(n_evals), int(n_evals > LISTED)
        as_much = len(largest) - np.searchsorted(largest, observed)
        return float((as_much + more) / (len(largest) + more))

    def _largest(self, n_evals: int) -> FloatArray:
        """Give the largest statistic of each order of so many scores, ascending."""
        if n_evals not in self._known:
            if n_evals <= LISTED:
                statistics = scan(self.detector, flat_runs(every_order(n_evals)))
            else:
                statistics = self._random(n_evals).sample(n_evals).within(n_evals)
            self._known[n_evals] = np.sort(statistics.max(axis=1, initial=-np.inf))
        return self._known[n_evals]

    def _random(self, n_evals: int) -> FlatNull:
        """Give random orders of so many scores; which ones depends on their number alone."""
        runs = orders_drawn(n_evals)
        if runs not in self._drawn:
            self._drawn[runs] = FlatNull(self.detector, FlatNoise(runs=runs, seed=self.seed))
        return self._drawn[runs]


def every_order(n: int) -> FloatArray:
    """Give all orders of n scores ``(n!, n)``: the last is inserted at each place of all others.

    >>> every_order(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    orders = np.zeros((1, 0))
    for last in range(n):
        places = [np.insert(orders, place, last, axis=1) for place in range(last + 1)]
        orders = np.concatenate(places)
    return orders


def orders_drawn(horizon: int) -> int:
    """Give how many random orders of so many evals are drawn.

    >>> [orders_drawn(horizon) for horizon in (50, 51, 200, 10_000)]
    [50000, 25000, 12500, 1000]
    """
    halvings = (max(horizon - 1, 0) // OF_UP_TO).bit_length()
    return min(max(DRAWN >> halvings, FEWEST), MOST // max(horizon, 1))
