"""Control charts as one-dimensional Markov processes, for the exact theory of `run_length`.

Every chart here is a recursion ``u' = drift(u) + scale * x`` of one number, where ``x`` is the
standardised observation (normal, unit variance, `mean` > 0 = a shift towards the alarm), that runs
until ``u`` leaves a continuation interval. What happens below the interval tells the charts apart:
a CUSUM is held at zero, a two-sided EWMA alarms, the others have no lower end.

Thresholds are on the scale of the member's statistic (``statistic >= threshold``): sigma for the
CUSUM, standard deviations of the EWMA, ``log(1 + R)`` for Shiryaev-Roberts.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.settings import check_settings, setting

Array = NDArray[np.float64]
Below = Literal["held", "alarm", "none"]

SIDES = ("one", "two")
# An interval without a lower end is cut where a normal variable has a chance of 1e-21.
TAIL = 9.5


class Chart(Protocol):
    """What the integral equations need to know of a chart."""

    @property
    def start(self) -> float:
        """Value of ``u`` before the first observation."""
        ...

    @property
    def least_threshold(self) -> float:
        """Thresholds must be above this."""
        ...

    @property
    def scale(self) -> float:
        """Effect of one standardised observation on ``u``."""
        ...

    @property
    def smoothness(self) -> float:
        """Length of ``u`` over which the kernel varies, at most `scale`."""
        ...

    @property
    def below(self) -> Below:
        """What happens below the interval: held at its end, an alarm, or it has no end."""
        ...

    @property
    def settled(self) -> int:
        """Number of observations after which the interval no longer changes."""
        ...

    def drift(self, u: Array) -> Array:
        """Next value of ``u`` when the observation is zero."""
        ...

    def interval(self, threshold: float, lowest_mean: float, n: int) -> tuple[float, float]:
        """Continuation interval after the `n`-th observation."""
        ...


@dataclass(frozen=True)
class CusumChart:
    """Page's CUSUM: ``S = max(0, S + x - k)``, alarm at ``S >= h``.

    Parameters
    ----------
    k : float
        Reference value in sigma, at least 0: half of the shift to be found fastest.
    sided : {"one", "two"}
        A chart for shifts one way, or the union of two charts, one for each way.
    head_start : float
        Value of S before the first observation, in sigma (fast initial response); both charts of a
        two-sided one start there.

    References
    ----------
    Page (1954), doi:10.1093/biomet/41.1-2.100; Lucas & Crosier (1982), doi:10.2307/1268149.
    """

    name: ClassVar[str] = "CUSUM chart"
    below: ClassVar[Below] = "held"
    scale: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = 1.0
    settled: ClassVar[int] = 0

    k: float = setting(0.5, low=0, unit="sigma")
    sided: str = setting("one", choices=SIDES)
    head_start: float = setting(0.0, low=0, unit="sigma")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def start(self) -> float:
        """Value of S before the first observation."""
        return self.head_start

    @property
    def least_threshold(self) -> float:
        """The head start; the halves of a two-sided chart must not both be near an alarm."""
        if self.sided == "two":
            return max(self.head_start, 2 * (self.head_start - self.k))
        return self.head_start

    def drift(self, u: Array) -> Array:
        """Subtract the reference value."""
        return u - self.k

    def interval(self, threshold: float, lowest_mean: float, n: int) -> tuple[float, float]:
        """``[0, h)``, always."""
        return 0.0, threshold


@dataclass(frozen=True)
class EwmaChart:
    """Roberts' EWMA chart: ``z = (1 - weight) z + weight x``, alarm at ``z / sd(z) >= L``.

    Parameters
    ----------
    weight : float
        Weight of the newest observation, in [0.001, 1]; 1 is Shewhart's chart.
    sided : {"one", "two"}
        Alarm at large ``z`` only, or at large ``|z|``.
    limits : {"fixed", "exact"}
        ``sd(z)`` of the stationary chart, ``sqrt(weight / (2 - weight))``, or of the chart at that
        observation, ``sqrt(weight / (2 - weight) (1 - (1 - weight)^(2 n)))``.

    References
    ----------
    Roberts (1959), doi:10.1080/00401706.1959.10489860; Lucas & Saccucci (1990),
    doi:10.2307/1269835.
    """

    name: ClassVar[str] = "EWMA chart"
    start: ClassVar[float] = 0.0
    least_threshold: ClassVar[float] = 0.0

    weight: float = setting(0.1, low=0.001, high=1)
    sided: str = setting("one", choices=SIDES)
    limits: str = setting("fixed", choices=("fixed", "exact"))

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def below(self) -> Below:
        """A two-sided chart alarms at both ends."""
        return "alarm" if self.sided == "two" else "none"

    @property
    def scale(self) -> float:
        """The weight."""
        return self.weight

    @property
    def smoothness(self) -> float:
        """The weight."""
        return self.weight

    @property
    def settled(self) -> int:
        """Exact limits differ from fixed ones by less than 1e-12 from here on."""
        if self.limits == "fixed" or self.weight == 1:
            return 0
        return math.ceil(math.log(2e-12) / (2 * math.log1p(-self.weight)))

    def drift(self, u: Array) -> Array:
        """Keep the share that the newest observation leaves."""
        return (1 - self.weight) * u

    def interval(self, threshold: float, lowest_mean: float, n: int) -> tuple[float, float]:
        """``L`` standard deviations up and, if two-sided, down."""
        stationary = math.sqrt(self.weight / (2 - self.weight))
        now = stationary
        if self.settled > n > 0:
            now *= math.sqrt(-math.expm1(2 * n * math.log1p(-self.weight)))
        if self.sided == "two":
            return -threshold * now, threshold * now
        return min(0.0, lowest_mean) - TAIL * stationary, threshold * now


@dataclass(frozen=True)
class ShiryaevRobertsChart:
    """Shiryaev-Roberts: ``R = (1 + R) exp(shift (x - k))``, alarm at ``R >= A``.

    The threshold is that of the statistic ``log(1 + R)``: ``log(1 + A)``.

    Parameters
    ----------
    shift : float
        Size of the shift to be found, in sigma, at least 0.01.
    k : float, optional
        Reference value in sigma; by default half the shift, which makes the exponential the
        likelihood ratio of the shift. The R package spc has ``shift=1`` and any k.

    References
    ----------
    Moustakides, Polunchenko & Tartakovsky (2009), doi:10.1080/03610920902947774.
    """

    name: ClassVar[str] = "Shiryaev-Roberts chart"
    below: ClassVar[Below] = "none"
    settled: ClassVar[int] = 0
    start: ClassVar[float] = -math.inf  # u = log R
    least_threshold: ClassVar[float] = 0.0

    shift: float = setting(1.0, low=0.01, unit="sigma")
    k: float | None = setting(None, low=0, unit="sigma")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def scale(self) -> float:
        """The shift."""
        return self.shift

    @property
    def smoothness(self) -> float:
        """``log(1 + exp u)`` bends over a length of one, whatever the shift."""
        return min(self.shift, 1.0)

    @property
    def _down(self) -> float:
        return self.shift * (self.shift / 2 if self.k is None else self.k)

    def drift(self, u: Array) -> Array:
        """``log(1 + R)`` less the reference value."""
        grown: Array = np.logaddexp(0.0, u) - self._down
        return grown

    def interval(self, threshold: float, lowest_mean: float, n: int) -> tuple[float, float]:
        """Up to ``log A``; the lowest value follows from R = 0."""
        high = threshold + math.log(-math.expm1(-threshold))
        low = self.shift * (lowest_mean - TAIL) - self._down
        return min(low, high - self.shift), high
