"""Mann-Kendall scan: the most significant run of ranks downwards that ends now.

For a window of the last m evals, ``S[m]`` is the number of its pairs that rise minus the number
that fall. The statistic is the largest, over m = 3..t, of

    -S[m] / sqrt(m (m - 1) (2 m + 5) / 18)

It uses only the order of the scores: no noise level, no scale, no outlier can mislead it, and on
flat independent noise its law is the same whatever the noise. A pair of equal scores neither rises
nor falls; the denominator is that of distinct scores, so ties err on the safe side.

Where it fails: a few evals cannot be very significant (m evals have m! orders), so on short runs it
answers late; it takes few distinct values, so a false-alarm budget is not met exactly.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.7, 0.6, 0.5, 0.4], [0.5, 0.7, 0.6, 0.7, 0.8]])
>>> first_alarm(scan(MannKendall(), runs), threshold=2)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class MannKendall:
    """Watch the most significant Mann-Kendall decline that ends at the current eval.

    References
    ----------
    Mann (1945), "Nonparametric tests against trend", doi:10.2307/1907187; Kendall (1975), *Rank
    correlation methods*.
    """

    name: ClassVar[str] = "mann-kendall"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    monotone: ClassVar[bool] = True
    discrete: ClassVar[bool] = True
    rank_based: ClassVar[bool] = True

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Scale the S of every window."""
        n_runs, n_evals = prefix.shape
        if n_evals < 3:
            return np.full(n_runs, -np.inf)
        m = np.arange(3.0, n_evals + 1)
        sd = np.sqrt(m * (m - 1) * (2 * m + 5) / 18)
        highest: FloatArray = (-rises_minus_falls(prefix)[:, 2:] / sd).max(axis=1)
        return highest


def rises_minus_falls(prefix: FloatArray) -> IntArray:
    """Give Mann-Kendall's S of the last 1..m evals: ``(n_runs, m) -> (n_runs, m)``."""
    back = np.ascontiguousarray(prefix[:, ::-1])
    pairs = np.zeros(back.shape, dtype=np.int64)
    for lag in range(1, back.shape[1]):
        late, early = back[:, :-lag], back[:, lag:]
        pairs[:, lag:] += np.subtract(late > early, late < early, dtype=np.int8)
    return pairs.cumsum(axis=1)
