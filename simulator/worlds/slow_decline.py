"""Falls so shallow that noise hides them."""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.laws import FALLS
from evalstop.simulator.worlds.rise_fall import RiseFall


@dataclass(frozen=True)
class SlowDecline(RiseFall):
    """Shallow falls, as the law of Gao et al. has them: runs end at .8 to .95 of their peak."""

    name: ClassVar[str] = "slow-decline"
    fall: str = setting("gao", choices=tuple(FALLS), doc="law of the fall")
    end: tuple[float, ...] = setting((0.8, 0.95), doc="range of the end, in units of the peak")
