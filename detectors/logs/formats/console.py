"""A trainer's console: dicts printed between progress bars and other text, as TRL prints them.

The dicts are Python's (``{'loss': 0.5, 'eval_reward': nan}``) or JSON. They are taken apart by
their pairs and never evaluated.
"""

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice

from evalstop.detectors.logs.assemble import assemble, refuse_lone_record
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.formats.json_text import parse_line
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.rules.cells import number
from evalstop.detectors.logs.rules.names import use
from evalstop.detectors.logs.series import Found

MAX_DICT = 1 << 20  # characters of a line that are looked at
MAX_DICTS = 1000  # of one line
_DICT = re.compile(r"\{[^{}]*\}")
_PAIR = re.compile(
    r"""(?P<quote>['"])(?P<key>[^'"]+)(?P=quote)\s*:\s*
    (?:'(?P<single>[^']*)'
    |"(?P<double>[^"]*)"
    |[\w.]*\(\s*(?P<wrapped>[^\s,()]+)[^()]*\)
    |(?P<bare>[^\s,{}\[\]()]+))
    """,
    re.VERBOSE,
)
_TORN = re.compile(r"""\{\s*['"][^{}]*\Z""")
_CLOCKS = ("step", "wandb", "epoch", "closing")


def fits(file: LogFile) -> bool:
    """Tell by a dict with a clock somewhere in its text."""
    return next(records(file), None) is not None


def read(file: LogFile) -> Found:
    """Read all dicts that tell a step or an epoch."""
    log = Log(str(file.path), file.run, file.ask)
    for line, record in records(file):
        log.add(record, line=line)
    last = deque(file.lines(), maxlen=1)
    if last and _TORN.search(last[0][1][-MAX_DICT:]):
        log.warnings.append(
            f"{file.path}: line {last[0][0]} is incomplete (run still writing?): skipped"
        )
    refuse_lone_record(log)
    return assemble(log)


def records(file: LogFile) -> Iterator[tuple[int, dict[str, object]]]:
    """Give line and pairs of each dict that has a clock and a number beside it."""
    for line, text in file.lines():
        if "{" not in text:
            continue
        record = parse_line(text)
        dicts = islice(_DICT.finditer(text[:MAX_DICT]), MAX_DICTS)
        for told in [record] if record else [pairs(match.group()) for match in dicts]:
            clocks = [key for key in told if use(key)[0] in _CLOCKS]
            if clocks and len(clocks) < len(told):
                yield line, told


def pairs(text: str) -> dict[str, object]:
    """Give the pairs of a flat dict; nested parts are passed over.

    >>> pairs("{'loss': -0.1, 'eval_reward': nan, 'x': np.float64(0.5), 'epoch': '0.06'}")
    {'loss': '-0.1', 'eval_reward': 'nan', 'x': '0.5', 'epoch': '0.06'}
    """
    told: dict[str, object] = {}
    for match in _PAIR.finditer(text):
        quoted, bare = match.group("single", "double"), match.group("wrapped", "bare")
        cell = next(cell for cell in (*quoted, *bare) if cell is not None)
        if quoted != (None, None) or number(cell) is not None:
            told[match.group("key")] = cell
    return told


FORMAT = Format("console of TRL and Hugging Face", fits, read)
