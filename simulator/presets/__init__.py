"""Presets: a world and a cluster, all of them in one explicit tuple."""

from evalstop.detectors.catalogue import Catalogue
from evalstop.errors import UserError
from evalstop.simulator.presets.preset import HeadOfLine, PaperN6, Preset
from evalstop.simulator.presets.scenario import Scenario, overlay

PRESETS: tuple[type[Preset], ...] = (Preset, PaperN6, HeadOfLine)

CATALOGUE: Catalogue[Preset] = Catalogue("preset", PRESETS)

__all__ = ["CATALOGUE", "PRESETS", "Preset", "Scenario", "build_preset", "overlay"]


def build_preset(spec: str, more: dict[str, str] | None = None, *, outside: bool = False) -> Preset:
    """Make a preset from ``NAME:field=value,...``, as `build_world` makes a world."""
    preset = CATALOGUE.build(spec, more=more, allow_path=outside)
    if not isinstance(preset, Preset):
        raise UserError(f"preset {spec}: it is no subclass of evalstop's Preset, be one")
    return preset
