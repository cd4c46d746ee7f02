"""Fused: the law of over-optimisation and the free rise-then-fall, in one sum.

The statistic is that of `gao-fit` plus `weight` times that of `unimodal-glr`, for which a given
sigma is a guess worth four second differences. Where the law holds, the first is the sharper; where
it does not, the second asks for no shape.

Where it fails: a sum is never the best of its parts, and a noise that is correlated from eval to
eval looks like a fall to both.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.3, 0.5, 0.55, 0.5, 0.4, 0.3], [0.3, 0.5, 0.55, 0.6, 0.63, 0.65]])
>>> first_alarm(scan(Fused(sigma=0.03), runs), threshold=6)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.noise import sigma_setting
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import check_settings, setting
from evalstop.detectors.zoo.gao_fit import GaoFit
from evalstop.detectors.zoo.unimodal_glr import UnimodalGlr


@dataclass(frozen=True, slots=True)
class Fused:
    """Watch the sum of two kinds of evidence that the peak has passed.

    Parameters
    ----------
    sigma : float or None
        First guess of the noise of one eval, in units of the score; none = estimated.
    weight : float
        Weight of the unimodal GLR.

    References
    ----------
    See `gao-fit` and `unimodal-glr`; the sum of log evidences of Fisher (1932), *Statistical
    methods for research workers*.
    """

    name: ClassVar[str] = "fused"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    sigma: float | None = sigma_setting()
    weight: float = setting(0.25, low=0, tune=(0.05, 2), log=True, doc="weight of the unimodal GLR")

    def __post_init__(self) -> None:
        check_settings(self)

    def statistic(self, prefix: FloatArray) -> FloatArray:
        """Add the two."""
        law, free = GaoFit(self.sigma), UnimodalGlr(self.sigma, guess_weight=4.0)
        return law.statistic(prefix) + self.weight * free.statistic(prefix)
