"""JSON that trainers write: bare NaN, a byte-order mark, a torn end."""

import json
import re
from typing import Any

from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.problems import NotALogError
from evalstop.errors import UserError

_WORD = re.compile(r"\S")


def parse_line(line: str) -> dict[str, Any] | None:
    """Give the object that a line holds, None if it holds none (or one too deep to be a record)."""
    text = line.strip().lstrip("\ufeff")
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def parse_document(file: LogFile) -> Any:  # noqa: ANN401 - any JSON value
    """Give the value of a file that is one document, or the list of those written into it.

    A part of a document proves nothing (its last curve would end early), so that a torn one is an
    error.
    """
    text = file.text().strip().lstrip("\ufeff").lstrip("\0")
    decoder, values, at = json.JSONDecoder(), [], 0
    try:
        while at < len(text):
            value, end = decoder.raw_decode(text, at)
            values.append(value)
            following = _WORD.search(text, end)
            at = following.start() if following else len(text)
    except ValueError as told:
        if is_torn(text, told):
            raise UserError(
                f"{file.path}: ends in the middle of a value (truncated, or still being "
                "written): retry when it is complete"
            ) from None
        raise NotALogError(
            f"{file.path}: this is no valid JSON ({told}) and no other known format"
        ) from None
    return values[0] if len(values) == 1 else values


def is_torn(text: str, told: ValueError) -> bool:
    """Tell a document that was cut from one that is wrong in the middle."""
    if isinstance(told, json.JSONDecodeError):
        if told.msg.startswith("Unterminated string"):
            return True
        rest = text[told.pos :]
        return len(rest) < 20 and "\n" not in rest and not rest.rstrip().endswith(("}", "]"))
    return False
