"""One module per command; each imports the rooms it needs inside its function."""

from evalstop.commands.detectors import detectors
from evalstop.commands.presets import presets

COMMANDS = (detectors, presets)
