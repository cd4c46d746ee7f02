"""Noise that remembers."""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.paper import Paper


@dataclass(frozen=True)
class Ar1(Paper):
    """The paper world with noise that remembers: successive evals correlate by .4 (AR(1))."""

    name: ClassVar[str] = "ar1"
    rho: tuple[float, ...] = setting((0.4,), doc="range of the correlation of successive evals")
