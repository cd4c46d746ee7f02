"""Step GLR: the best split of the scores into a higher and then a lower level.

The statistic is the largest, over splits of the t scores into the first n1 and the last n2, of

    n1 n2 / t (mean1 - mean2)^2 / (2 sigma^2)    where mean1 > mean2, else 0

the log of the generalised likelihood ratio for one fall of the mean, both levels unknown.

Where it fails: after a rise the mean of the early scores is low, so a fall shows only once it has
come down to the middle of the rise; `slope-glr` and `unimodal-glr` do not have that blind spot.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.5, 0.3, 0.3], [0.5, 0.6, 0.5, 0.6, 0.5]])
>>> first_alarm(scan(StepGlr(sigma=0.05), runs), threshold=8)
array([ 3, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.noise import noise, sigma_setting, standardised
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings, setting


@dataclass(frozen=True, slots=True)
class StepGlr:
    """Watch the most significant fall of the mean.

    Parameters
    ----------
    sigma : float or None
        Noise of one eval, in units of the score; none = estimated.
    sided : {"one", "two"}
        Falls only, or changes of the mean either way (for comparison with other programs).

    References
    ----------
    Siegmund & Venkatraman (1995), "Using the generalized likelihood ratio statistic for sequential
    detection of a change-point", doi:10.1214/aos/1176324466; Romano, Eckley, Fearnhead & Rigaill
    (2023), "Fast online changepoint detection via functional pruning CUSUM statistics",
    arXiv:2110.08205.
    """

    name: ClassVar[str] = "step-glr"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()
    sided: str = setting("one", choices=("one", "two"), doc="falls only, or any change")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def monotone(self) -> bool:
        """A rising trend shrinks every fall; an estimated noise may fall with it."""
        return self.sigma is not None and self.sided == "one"

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Try every split."""
        n_runs, n_evals = prefix.shape
        if n_evals < 2:
            return np.full(n_runs, -np.inf)
        falls = standardised(split_contrasts(prefix), self.sigma or noise(prefix))
        if self.sided == "two":
            falls = np.abs(falls)
        halved: FloatArray = np.maximum(falls.max(axis=1), 0) ** 2 / 2
        return halved


def split_contrasts(prefix: FloatArray) -> FloatArray:
    """Give ``sqrt(n1 n2 / m) (mean1 - mean2)`` of every split: ``(n_runs, m) -> (n_runs, m - 1)``.

    On flat noise each has the standard deviation of one score.
    """
    m = prefix.shape[1]
    before = np.arange(1.0, m)
    after = m - before
    sums = (prefix - prefix[:, :1]).cumsum(axis=1)
    # mean1 - mean2 = (m sum1 - n1 sum) / (n1 n2)
    contrasts: FloatArray = (m * sums[:, :-1] - before * sums[:, -1:]) / np.sqrt(before * after * m)
    return contrasts
