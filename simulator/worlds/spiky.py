"""Evals that went wrong now and then."""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.settings import setting
from evalstop.simulator.worlds.paper import Paper


@dataclass(frozen=True)
class Spiky(Paper):
    """The paper world with spikes: one eval in ten has five times the noise."""

    name: ClassVar[str] = "spiky"
    spikes: float = setting(0.1, low=0, high=1, doc="share of evals with five times the noise")
