"""The world of the EvalStop paper as far as its tables tell: curves "n8" of the preset."""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.simulator.worlds.rise_fall import RiseFall


@dataclass(frozen=True)
class Paper(RiseFall):
    """EvalStop's 8 evals; fitted, not disclosed by the authors: exponential rise, smooth peak.

    Healthy ``(1 - e^(-c p)) / (1 - e^-c)``, c ~ U(1.7, 3.65); hacking the same up to p* ~ U(.55,
    .75), then x(p*) [1 - (1 - e) u^2], u the share of the time after the peak, e ~ U(.45, .65). The
    law before the peak is the same in both, so nothing leaks the label early.

    References
    ----------
    EvalStop, arXiv:2606.04145.
    """

    name: ClassVar[str] = "paper"
