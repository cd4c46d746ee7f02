"""Thresholds matched at a false-positive rate, where no run may have a say in its own.

The rule itself, and what it promises, is that of `evalstop.detectors.calibration.order`.
"""

import numpy as np

from evalstop.benchmarks.population import BoolArray
from evalstop.detectors.calibration.order import (
    are_counts,
    just_above,
    largest_statistics,
    matched_threshold,
    order_rank,
    runs_needed,
)
from evalstop.detectors.observation import FloatArray, IntArray

__all__ = ["held_out_thresholds", "largest_statistics", "matched_threshold", "runs_needed"]


def held_out_thresholds(
    largest: FloatArray, negative: BoolArray, groups: IntArray, fpr: float
) -> FloatArray:
    """Give each run the threshold that all *other groups'* negatives give, ``(n,)``.

    This is cross-validation that leaves one group out at a time, so no run has a say in its own
    threshold, nor has any other curve of the same training run.

    Parameters
    ----------
    largest : array (n,)
        Largest statistic of every run.
    negative : bool array (n,)
        Which of them should not be stopped.
    groups : int array (n,)
        Runs of one group (0, 1, ...) stay together.
    """
    order = np.flatnonzero(negative)[np.argsort(largest[negative], kind="stable")]
    ascending, owner = largest[order], groups[order]
    n_groups = int(groups.max(initial=0)) + 1
    left_out = np.bincount(owner, minlength=n_groups)
    rank = order_rank(len(order) - left_out, fpr, " besides those of the judged run")
    # The r-th of those that stay: go one further for each of the group's own that lies before it.
    for place in np.lexsort((np.arange(len(order)), owner)):
        rank[owner[place]] += place <= rank[owner[place]]
    thresholds = just_above(ascending[rank], are_counts(ascending))
    return thresholds[groups]
