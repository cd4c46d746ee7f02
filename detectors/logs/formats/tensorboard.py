"""TensorBoard: all event files of a folder are one run, in the order they were begun.

A run that died and went on writes a second file whose steps go back, or that says so by the start
of a session. A session that starts at the beginning, or at step 0, says nothing: steps then tell.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats.event_file import Event, events, is_event_file
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.log import Ask, Log
from evalstop.detectors.logs.problems import NoCurveError
from evalstop.detectors.logs.series import Found


def fits(file: LogFile) -> bool:
    """Tell by the checksum that a record starts with."""
    return is_event_file(file.head)


def read(file: LogFile) -> Found:
    """Read one event file alone."""
    return read_run([file.path], file.run, file.ask)


def read_run(paths: Sequence[Path], run: str, ask: Ask) -> Found:
    """Read the event files of one run."""
    log = Log(str(paths[0] if len(paths) == 1 else paths[0].parent), run, ask)
    files = [list(events(path, log.warnings)) for path in paths]
    files = [told for told in files if told]
    files.sort(key=lambda told: told[0].time if math.isfinite(told[0].time) else math.inf)
    started = False
    restart = ""
    for event in (event for told in files for event in told):
        if event.start:
            if started or (log.rows and event.step > 0):
                restart = f"a session starts again at step {event.step} (restart)"
                log.add({"step": event.step}, restart=restart)
            started = True
        if event.scalars:
            log.add(_record(event))
    if not log.found:
        raise NoCurveError(f"{log.source}: no eval series: there are no scalars in its event files")
    return assemble(log)


def _record(event: Event) -> dict[str, float]:
    """Give a record; a scalar that is itself called step does not hide the event's step."""
    return {**event.scalars, "global_step": float(event.step)}


FORMAT = Format("TensorBoard", fits, read)
