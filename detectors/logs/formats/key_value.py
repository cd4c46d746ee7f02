"""Lines of ``key:value`` or ``key=value`` pairs with a step among them, as verl's console prints.

``step:3 - val-core/x/acc/mean@1:0.52 - actor/pg_loss:0.1``. Only names that say so are evals here,
since such lines may be about anything.
"""

import re
from collections.abc import Iterator

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.rules.names import is_bookkeeping, is_eval, use
from evalstop.detectors.logs.series import Found

MAX_TEXT = 1 << 20  # characters of a line that are looked at
_PAIR = re.compile(
    r"(?<![^\s,;|(\[])(?P<key>[A-Za-z_][\w/@.\-]*)\s?[:=]\s?"
    r"(?P<value>[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf))(?=[\s,;|)\]]|$)",
    re.IGNORECASE,
)


def fits(file: LogFile) -> bool:
    """Tell by an eval beside a step somewhere in its text."""
    return any(
        is_eval(key) and not is_bookkeeping(key) for _, record in records(file) for key in record
    )


def read(file: LogFile) -> Found:
    """Read all lines that tell a step."""
    log = Log(str(file.path), file.run, file.ask, all_train=True)
    for line, record in records(file):
        log.add(record, line=line)
    return assemble(log)


def records(file: LogFile) -> Iterator[tuple[int, dict[str, str]]]:
    """Give line and pairs of each line that has a step."""
    for line, text in file.lines():
        pairs = {m.group("key"): m.group("value") for m in _PAIR.finditer(text[:MAX_TEXT])}
        if len(pairs) > 1 and any(use(key)[0] == "step" for key in pairs):
            yield line, pairs


FORMAT = Format("console of verl", fits, read)
