"""JSON lines: one record a line, as verl, OpenRLHF, LLaMA-Factory and most own loggers write.

A torn last line is left out with a warning (the run is still writing); lines that are no records
are passed over.
"""

from itertools import islice

from evalstop.detectors.logs.assemble import assemble, refuse_lone_record
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.formats.json_text import parse_line
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.rules.names import use
from evalstop.detectors.logs.rules.sentences import lines_text
from evalstop.detectors.logs.series import Found


def fits(file: LogFile) -> bool:
    """Tell by the first lines: two records, or one and more to come."""
    lines = [line for _, line in islice(file.lines(), 50) if line.strip()]
    records = [record for record in map(parse_line, lines) if record is not None]
    if len(records) != 1 or parse_line(lines[0]) is None:
        return len(records) > 1
    if len(lines) > 1 or file.warnings:  # the second is torn, or too long
        return True
    has_clock = any(use(key)[0] in ("step", "wandb", "epoch") for key in records[0])
    return has_clock and not any(isinstance(v, list | dict) for v in records[0].values())


def read(file: LogFile) -> Found:
    """Read the records."""
    log = Log(str(file.path), file.run, file.ask)
    torn: list[int] = []
    text: list[int] = []
    number, line = 0, ""
    for number, line in file.lines():
        record = parse_line(line)
        if record is not None:
            log.add(record, line=number)
        elif line.strip():
            (torn if line.lstrip().startswith("{") else text).append(number)
    if torn and torn[-1] == number and not line.endswith(("\n", "\r")):
        torn.pop()
        log.warnings.append(
            f"{file.path}: line {number} is incomplete (run still writing?): skipped"
        )
    if torn:
        log.warnings.append(f"{file.path}: {lines_text(torn)}: no valid JSON, skipped")
    if text:
        log.notes.append(f"{file.path}: {lines_text(text)}: no record, skipped")
    refuse_lone_record(log)
    return assemble(log)


FORMAT = Format("JSON lines", fits, read)
