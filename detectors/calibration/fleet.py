"""Which runs of a fleet to stop, so that few of the stops are wrong.

A budget per run bounds how many healthy runs are stopped; of a fleet of mostly healthy runs, most
stops may still be wrong. Here the share of wrong stops among all stops is bounded instead, on
average (the false discovery rate): with p-values of the runs by Benjamini and Hochberg's procedure,
with e-values by Wang and Ramdas', which asks for nothing of how the runs depend on each other.

References
----------
Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x; Wang & Ramdas (2022), "False
discovery rate control with e-values", doi:10.1111/rssb.12489.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.errors import UserError


class Rejection(NamedTuple):
    """What is decided on each curve of a fleet, ``(n_curves,)`` each.

    Its p-value times the number of metrics of its run, and whether it stops the run.
    """

    adjusted: FloatArray
    stops: NDArray[np.bool_]


def rejected(p_values: FloatArray, groups: IntArray, level: float) -> Rejection:
    """Decide which runs are stopped, and for which of their metrics.

    A run's own p-value is the smallest of its metrics' times their number (Bonferroni), valid
    however they depend on each other; over the runs it is Benjamini and Hochberg's procedure.

    Parameters
    ----------
    p_values : array (n_curves,)
        One for each metric of each run; 1 / e of e-values makes it the procedure for these.
    groups : int array (n_curves,)
        Metrics of one run have one number (0, 1, ...).
    level : float
        Share of wrong stops that is allowed on average, in (0, 1).

    Examples
    --------
    >>> rejected(np.array([0.01, 0.04, 0.9, 0.02]), np.arange(4), 0.1).stops.tolist()
    [True, True, False, True]
    """
    if not 0 < level < 1:
        raise UserError(f"fdr: must be between 0 and 1, got {level:g}")
    adjusted = np.minimum(p_values * np.bincount(groups)[groups], 1.0)
    of_runs = np.ones(int(groups.max(initial=-1)) + 1)
    np.minimum.at(of_runs, groups, adjusted)
    ascending = np.sort(of_runs)
    allowed = level * np.arange(1, len(ascending) + 1) / max(len(ascending), 1)
    met = np.flatnonzero(ascending <= allowed * (1 + 1e-12))
    limit = ascending[met[-1]] if met.size else -1.0
    return Rejection(adjusted, adjusted <= limit)
