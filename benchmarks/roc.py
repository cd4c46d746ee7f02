"""ROC and AMOC of one detector from one scan: every threshold at once."""

from typing import NamedTuple

import numpy as np

from evalstop.benchmarks.outcomes import delays
from evalstop.benchmarks.population import BoolArray, LabelledRuns
from evalstop.benchmarks.scores import longest_follow_up, mean_delay
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.scan import first_alarm


class Roc(NamedTuple):
    """Rates at every threshold that changes a decision, from the strictest to the loosest.

    Parameters
    ----------
    fpr, tpr : array
        Share of negative and of positive runs with an alarm; from (0, 0) to (1, 1).
    thresholds : array
        Alarm = largest statistic of the run >= threshold; the first is +inf: no alarm at all.
    """

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray

    @property
    def degenerate(self) -> bool:
        """Whether the statistic ranks nothing: all runs are equal, or of one kind."""
        return len(self.thresholds) < 3 or bool(np.isnan(self.tpr + self.fpr).any())


class Amoc(NamedTuple):
    """Delay against false alarms (activity monitoring), from the strictest threshold on.

    Parameters
    ----------
    fpr : array
        Share of negative runs with an alarm.
    delay : array
        Mean delay in evals, restricted to the longest follow-up (`Scores.delay_mean`).

    References
    ----------
    Fawcett & Provost (1999), "Activity monitoring", doi:10.1145/312129.312195.
    """

    fpr: FloatArray
    delay: FloatArray


def roc(largest: FloatArray, positive: BoolArray) -> Roc:
    """Give the ROC of runs by their largest statistics; runs that tie move together.

    Parameters
    ----------
    largest : array (n,)
        Largest statistic of each run (`largest_statistics`).
    positive : bool array (n,)
        Which runs should be stopped.
    """
    thresholds, place = np.unique(-largest, return_inverse=True)
    rates = []
    for side in (~positive, positive):
        alarms = np.bincount(place[side], minlength=len(thresholds)).cumsum()
        rates.append(np.r_[0, alarms] / (side.sum() or np.nan))
    return Roc(rates[0], rates[1], np.r_[np.inf, -thresholds])


def area(curve: Roc, up_to: float = 1.0) -> float:
    """Give the mean recall over false-positive rates from 0 to `up_to`, in [0, 1].

    This is the (partial) area under the ROC over `up_to`; guessing gives ``up_to / 2``. NaN for a
    degenerate curve, where the usual rule would say 0.5 of a statistic that says nothing.
    """
    if curve.degenerate:
        return np.nan
    at_end = np.interp(up_to, curve.fpr, curve.tpr)
    inside = curve.fpr <= up_to
    fpr, tpr = np.r_[curve.fpr[inside], up_to], np.r_[curve.tpr[inside], at_end]
    return float(np.trapezoid(tpr, fpr) / up_to)


def amoc(statistics: FloatArray, population: LabelledRuns, n_thresholds: int = 100) -> Amoc:
    """Give the delay on hacking runs at thresholds spread over the false-positive rates.

    Parameters
    ----------
    statistics : array (n, m)
        What `scan` gives.
    population : LabelledRuns
        The runs.
    n_thresholds : int
        At most so many points.
    """
    stoppable = np.where(population.stoppable, statistics.max(axis=1), -np.inf)
    ascending = np.unique(stoppable[~population.hacking])
    spread = np.linspace(0, len(ascending) - 1, min(len(ascending), n_thresholds)).round()
    thresholds = ascending[spread.astype(np.int64)][::-1]
    thresholds = thresholds[np.isfinite(thresholds)]
    rates = [float((stoppable[~population.hacking] >= t).mean()) for t in thresholds]
    horizon = longest_follow_up(population)
    waits = [
        mean_delay(delays(population, first_alarm(statistics, t)), horizon) for t in thresholds
    ]
    return Amoc(np.array(rates), np.array(waits))
