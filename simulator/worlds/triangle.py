"""A corner instead of a smooth peak."""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.laws import FALLS
from evalstop.simulator.worlds.rise_fall import RiseFall


@dataclass(frozen=True)
class Triangle(RiseFall):
    """Rises by the healthy law, then falls in a straight line: a corner, not a smooth peak."""

    name: ClassVar[str] = "triangle"
    fall: str = setting("straight", choices=tuple(FALLS), doc="law of the fall")
