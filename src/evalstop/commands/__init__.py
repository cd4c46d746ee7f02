"""One module per command; each imports the rooms it needs inside its function."""

from evalstop.commands.detectors import detectors

COMMANDS = (detectors,)
