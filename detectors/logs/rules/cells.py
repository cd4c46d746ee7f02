"""What one cell of a log says: a number, nothing, or a step.

A blank, ``NA``, ``None``, ``-`` or ``No log`` says *not evaluated here*; ``nan`` and ``inf``
written out say *evaluated, and this is what came out*. ``41.37%`` is 0.4137; bold marks and
footnote stars are no part of a number.

>>> number("**43.05%**"), number("-"), number("1e-3"), number("0,4312", decimal=",")
(0.4305, None, 0.001, 0.4312)
>>> step("Step 1,000"), step("checkpoint-250"), step("1.0e2"), step("Base"), step("final")
(1000.0, 250.0, 100.0, 0.0, None)
"""

import math
import re

NOTHING = frozenset(
    [
        "",
        "-",
        "--",
        "\N{EN DASH}",
        "\N{EM DASH}",
        "na",
        "n/a",
        "<na>",
        "#n/a",
        "none",
        "null",
        "no log",
        "nil",
    ]
)
BASE = frozenset(["base", "baseline", "base model"])

_MARKS = re.compile(r"\\\*|\[\^?\w+\]|<[^<>]{0,40}>|[*`~†‡§¶¹²³]")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_POINT_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_NUMBER = r"\d[\d,_]*(?:\.\d+)?(?:e[+-]?\d+)?"
_WHOLE_STEP = re.compile(rf"({_NUMBER})\s*([kKM]?)")
_STEP_WORD = r"(?:global|train)?[ _-]?(?:steps?|iter(?:ation)?s?|checkpoint|ckpt|updates?|epochs?)"
_NAMED_STEP = re.compile(
    rf"(?:^|[^a-z]){_STEP_WORD}[ _\-=:#]*({_NUMBER})([kKM]?)(?![a-z0-9])", re.IGNORECASE
)
_LAST_STEP = re.compile(rf"(?<![A-Za-z0-9.])({_NUMBER})([kKM]?)(?![A-Za-z0-9])")
_LONE_STEP = re.compile(rf"(?<![a-z0-9.]){_NUMBER}[kKM]?(?![a-z0-9])", re.IGNORECASE)
_SCALE = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}


def number(cell: object, decimal: str = ".") -> float | None:
    """Give the number of a cell (finite, nan or +-inf), None if it holds none."""
    if type(cell) is float:
        return cell
    if isinstance(cell, str):
        if decimal == "." and "_" not in cell:
            try:
                return float(cell)
            except ValueError:
                pass
        return _text_number(cell, decimal)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    try:
        return float(cell)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf if cell > 0 else -math.inf


def _text_number(cell: str, decimal: str) -> float | None:
    if len(cell) > 100:
        return None
    text = plain(cell).split("±")[0].strip("_ ").replace("\N{MINUS SIGN}", "-").rstrip()
    if not text or "_" in text:
        return None
    percent = text.endswith("%")
    text = text.rstrip("% ")
    if decimal == ",":
        if "," in text or _POINT_GROUPED.fullmatch(text):
            text = text.replace(".", "").replace(",", ".")
    elif _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value / 100 if percent else value


def plain(cell: str) -> str:
    """Strip bold, code and footnote marks, and the target of a link."""
    if "](" in cell:
        cell = _LINK.sub(r"\1", cell)
    return _MARKS.sub("", cell).strip()


def is_nothing(cell: object) -> bool:
    """Tell whether a cell says *not evaluated here*."""
    return cell is None or (isinstance(cell, str) and plain(cell).lower() in NOTHING)


def is_point_grouped(cell: str) -> bool:
    """Tell whether points may group the digits of a cell by thousands: 1.000."""
    return _POINT_GROUPED.fullmatch(cell.strip()) is not None


def is_base(label: object) -> bool:
    """Tell whether a row is called base or baseline: the model before training."""
    return isinstance(label, str) and not label.isdecimal() and plain(label).lower() in BASE


def step(label: object, decimal: str = ".") -> float | None:
    """Give the step that a cell, a key or a name tells, None if it tells none."""
    if not isinstance(label, str):
        value = number(label)
        return value if value is not None and math.isfinite(value) else None
    if decimal == "." and label.isdecimal() and len(label) < 16:
        return float(label)
    text = plain(label)
    if text.lower() in BASE:
        return 0.0
    whole = number(text, decimal) if decimal == "," else None
    if whole is None:
        whole = key_step(text)
    if whole is None and len(text) <= 200:
        lone = _LONE_STEP.findall(text)
        whole = key_step(lone[0]) if len(lone) == 1 else None
    return whole if whole is not None and math.isfinite(whole) else None


def key_step(text: str) -> float | None:
    """Give the step of a label that is nothing but a step: 100, 1e3, step_200, 10k."""
    if len(text) > 200:
        return None
    match = _WHOLE_STEP.fullmatch(text.strip().lstrip("+-")) or _NAMED_STEP.fullmatch(text.strip())
    if match is None:
        return None
    value = _scaled(match)
    return -value if text.strip().startswith("-") else value


def name_step(text: str) -> tuple[float, str] | None:
    """Give the step that a file or folder name tells, and the name without it.

    >>> name_step("birch-90m_step16"), name_step("birch-90m-4000"), name_step("birch-90m")
    ((16.0, 'birch-90m'), (4000.0, 'birch-90m'), None)
    """
    matches = list(_NAMED_STEP.finditer(text)) or list(_LAST_STEP.finditer(text))
    if not matches:
        return None
    match = matches[-1]
    rest = (text[: match.start()] + text[match.end() :]).strip(" _-.=")
    return _scaled(match), rest


def _scaled(match: re.Match[str]) -> float:
    digits = match.group(1).replace(",", "").replace("_", "")
    return float(digits) * _SCALE[match.group(2)]
