"""Mann-Kendall scan: the most significant run of ranks downwards that ends now.

For the last m evals, ``S[m]`` is the number of pairs that rise minus the number that fall. The
statistic is the largest, over m = 3..t but at most `window`, of

    -S[m] / sqrt(m (m - 1) (2 m + 5) / 18)

It uses only the order of the scores: no noise level, no scale, no outlier can mislead it, and on
flat independent noise its law is the same whatever the noise. A pair of equal scores neither rises
nor falls; the denominator is that of distinct scores, so ties err on the safe side.

A new eval x adds to ``S[m]`` of the eval before how x compares with those m evals, so an eval costs
as much as the window is long, and so much memory.

Where it fails: a few evals cannot be very significant (m evals have m! orders), so on short runs it
answers late; it takes few distinct values, so a false-alarm budget is not met exactly; noise
correlated from eval to eval looks like a decline to it; and a decline too slow to show within
`window` evals is not seen.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.7, 0.6, 0.5, 0.4], [0.5, 0.7, 0.6, 0.7, 0.8]])
>>> first_alarm(scan(MannKendall(), runs), threshold=2)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.observation import FloatArray, IntArray, Observation
from evalstop.detectors.settings import check_settings, setting


class State(NamedTuple):
    """Evals seen ``(n_runs,)`` and, newest first, two tables ``(n_runs, evals so far)``.

    Column j holds the score j evals ago, and how many more pairs fall than rise among it and all
    after it. There are as many columns as the oldest of the runs needs, up to `window`.
    """

    n_seen: IntArray
    scores: FloatArray
    falls: NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class MannKendall:
    """Watch the most significant Mann-Kendall decline that ends at the current eval.

    Parameters
    ----------
    window : int
        Evals that are looked back on, in [3, 256]: runs that are no longer are judged whole.

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
    # The pairs of 256 evals can be counted in 16 bits.
    window: int = setting(64, low=3, high=256, unit="evals", doc="evals looked back on")

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, n_runs: int) -> State:
        """Start without a score."""
        none = np.zeros((0, n_runs))
        return State(np.zeros(n_runs, dtype=np.int64), none.T, none.astype(np.int16).T)

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Compare the new score with those before it, and scale the pairs of every window."""
        score = observation.score
        assert score is not None
        n_seen = state.n_seen + 1
        # Laid out eval by eval, so that every operation runs along contiguous runs.
        before, falls = state.scores.T[: self.window - 1], state.falls.T[: self.window - 1]
        more = np.subtract(before > score, before < score, dtype=np.int16)
        reach = 1
        while reach < len(more):  # a cumulative sum; along this axis cumsum is many times slower
            more[reach:] += more[:-reach]
            reach *= 2
        none = np.zeros((1, len(score)), dtype=np.int16)
        scores, falls = np.concatenate([score[None], before]), np.concatenate([none, falls + more])
        m = np.arange(3.0, len(falls) + 1)[:, None]
        declines = falls[2:] / np.sqrt(m * (m - 1) * (2 * m + 5) / 18)
        young = n_seen < len(falls)
        if young.any():  # beside older runs: what is behind their first eval is nobody's
            declines[:, young] = np.where(m <= n_seen[young], declines[:, young], -np.inf)
        return State(n_seen, scores.T, falls.T), declines.max(axis=0, initial=-np.inf)
