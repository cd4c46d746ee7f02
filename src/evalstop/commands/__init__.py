"""One module per command; each imports the rooms it needs inside its function."""

from evalstop.commands.detectors import detectors
from evalstop.commands.presets import presets
from evalstop.commands.read import read
from evalstop.commands.study import study

COMMANDS = (read, detectors, presets, study)
