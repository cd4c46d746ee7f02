"""Worlds that make runs: one world, one file, all of them in one explicit tuple."""

from evalstop.detectors.catalogue import Catalogue
from evalstop.errors import UserError
from evalstop.simulator.worlds.ar1 import Ar1
from evalstop.simulator.worlds.cliff import Cliff
from evalstop.simulator.worlds.dips import Dips
from evalstop.simulator.worlds.gao_bon import GaoBoN
from evalstop.simulator.worlds.gao_law import GaoLaw
from evalstop.simulator.worlds.gao_rl import GaoRL
from evalstop.simulator.worlds.hurts_from_start import HurtsFromStart
from evalstop.simulator.worlds.late_peak import LatePeak
from evalstop.simulator.worlds.never_improves import NeverImproves
from evalstop.simulator.worlds.paper import Paper
from evalstop.simulator.worlds.paper_n6 import PaperN6
from evalstop.simulator.worlds.plateau import Plateau
from evalstop.simulator.worlds.plateau_then_decline import PlateauThenDecline
from evalstop.simulator.worlds.real_noise import RealNoise
from evalstop.simulator.worlds.slow_decline import SlowDecline
from evalstop.simulator.worlds.spiky import Spiky
from evalstop.simulator.worlds.triangle import Triangle
from evalstop.simulator.worlds.wild import Wild
from evalstop.simulator.worlds.world import World

WORLDS: tuple[type[World], ...] = (
    Paper,
    PaperN6,
    GaoLaw,
    GaoRL,
    GaoBoN,
    Plateau,
    Dips,
    LatePeak,
    SlowDecline,
    HurtsFromStart,
    NeverImproves,
    Triangle,
    Cliff,
    PlateauThenDecline,
    Ar1,
    Spiky,
    Wild,
    RealNoise,
)

CATALOGUE: Catalogue[World] = Catalogue("world", WORLDS)

__all__ = ["CATALOGUE", "WORLDS", "World", "build_world"]


def build_world(spec: str, more: dict[str, str] | None = None, *, outside: bool = False) -> World:
    """Make a world from ``NAME:field=value,...``.

    A file (``path.py:Class``) is run only if the user typed it (`outside`). `UserError` names the
    nearest known world or setting, or says that a class is no world.
    """
    world = CATALOGUE.build(spec, more=more, allow_path=outside)
    if not isinstance(world, World):
        raise UserError(f"world {spec}: it is no subclass of evalstop's World, be one")
    return world
