"""Boundaries over evals: a budget of false alarms that is spent evenly, for an unknown horizon.

A constant threshold keeps its promise at one horizon. A boundary keeps

    P(alarm by eval n) <= fpr n / horizon    for every n up to the horizon,

so a run may end early, or be looked at early, and has spent only its part (alpha spending). The
level of each eval is the order statistic of those runs that the levels before it have spared.

References
----------
Lan & DeMets (1983), "Discrete sequential boundaries for clinical trials",
doi:10.1093/biomet/70.3.659.
"""

import numpy as np

from evalstop.detectors.calibration.order import (
    alarms_allowed,
    are_counts,
    just_above,
    order_rank,
)
from evalstop.detectors.observation import FloatArray


def spending_boundary(statistics: FloatArray, fpr: float, *, spend_ties: bool) -> FloatArray:
    """Give the boundary that spends a rate evenly over the evals.

    Parameters
    ----------
    statistics : array (n_runs, horizon)
        Of runs that should not be stopped.
    fpr : float
        Probability of an alarm within the horizon, in (0, 1).
    spend_ties : bool
        What is spent at an eval that could not be spent exactly, since the statistic ties. True:
        as much as was to be spent, the tied runs being spared no longer, by lot; then the promise
        holds for any number of runs and any ties. False: only alarms, and the rest is kept for
        later evals; then it holds up to the order of ``horizon / n_runs``.

    Returns
    -------
    array (horizon,)
        Infinite where nothing can be spent.

    Notes
    -----
    Add a further run that is exchangeable with the `n`, and let all ``n + 1`` spend: at eval t the
    largest of those spared so far go (ties by lot) until ``floor(fpr t / horizon (n + 1))`` are
    gone. By symmetry the further run is gone by t with probability at most ``fpr t / horizon``. If
    it is not, the n runs went as if it were not there: so the level just above the last of them to
    go is known without it, and it can reach that level only by going itself.
    """
    n_runs, horizon = statistics.shape
    order_rank(np.array(n_runs), fpr)  # refuses too few
    allowed = alarms_allowed(np.array(n_runs), fpr * np.arange(1, horizon + 1) / horizon)
    counts = are_counts(statistics)
    levels = np.full(horizon, np.inf)
    spared = np.arange(n_runs)
    for t, spent_by_then in enumerate(allowed):
        now = statistics[spared, t]
        budget = min(spent_by_then - (n_runs - len(spared)), np.count_nonzero(now > -np.inf))
        if budget <= 0:
            continue
        gone = np.argsort(-now, kind="stable")[:budget]
        levels[t] = just_above(now[gone].min(), counts)
        if not spend_ties:
            gone = np.flatnonzero(now >= levels[t])
        spared = np.delete(spared, gone)
    return levels
