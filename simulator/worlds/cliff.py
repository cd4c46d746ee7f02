"""Collapse from one eval to the next."""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.laws import FALLS
from evalstop.simulator.worlds.rise_fall import RiseFall


@dataclass(frozen=True)
class Cliff(RiseFall):
    """Collapses at once: from the peak to .45 to .65 of it, and stays there."""

    name: ClassVar[str] = "cliff"
    fall: str = setting("step", choices=tuple(FALLS), doc="law of the fall")
