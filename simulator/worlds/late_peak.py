"""Peaks so late that few evals are left to see the fall."""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.laws import FALLS
from evalstop.simulator.worlds.rise_fall import RiseFall


@dataclass(frozen=True)
class LatePeak(RiseFall):
    """Peaks at .75 to .9 of the run: few evals are left to see a fall, little is left to save.

    Gao's shape of the fall, steeper than its law: it ends at .45 to .65 of the peak.
    """

    name: ClassVar[str] = "late-peak"
    fall: str = setting("gao", choices=tuple(FALLS), doc="law of the fall")
    peak: tuple[float, ...] = setting((0.75, 0.9), unit="progress", doc="range of the peak")
