"""One module per command; each imports the rooms it needs inside its function."""

from evalstop.commands.calibrate import calibrate
from evalstop.commands.compare import compare
from evalstop.commands.detectors import detectors
from evalstop.commands.leaderboard import leaderboard
from evalstop.commands.presets import presets
from evalstop.commands.read import read
from evalstop.commands.reproduce import reproduce
from evalstop.commands.scan import scan
from evalstop.commands.schedulers import schedulers
from evalstop.commands.simulate import simulate
from evalstop.commands.study import study
from evalstop.commands.track import track
from evalstop.commands.tune import tune
from evalstop.commands.ui import ui
from evalstop.commands.watch import watch

COMMANDS = (
    read,
    scan,
    watch,
    compare,
    calibrate,
    simulate,
    detectors,
    schedulers,
    presets,
    study,
    reproduce,
    leaderboard,
    tune,
    track,
    ui,
)
