"""Numbers that stay exact: times are whole or decimal in a trace, and equal moments must be equal.

A float sum may miss a moment that another sum hits (``.1 + .2 != .3``), and an arrival that comes
one rounding error before an end is scheduled differently. So a time that a trace states is an int
or a `fractions.Fraction`; a time that a world draws is a float. Both mix in arithmetic, and
annotations say `float` for all three.
"""

import math
import re
from fractions import Fraction
from typing import cast

PLAIN = re.compile(r"[+-]?\d*\.\d{1,9}")
"""A decimal that a person or a clock wrote; more digits come from a program's float."""


def exact(text: str) -> float:
    """Read a finite number; whole numbers become int, decimals `Fraction`.

    >>> exact("12.0"), exact("0.1") + exact("0.2") == exact("0.3")
    (12, True)
    """
    value = float(text)
    if not math.isfinite(value) or abs(value) >= 2**53:
        raise ValueError(text)
    if value.is_integer():
        return int(value)
    return cast("float", Fraction(text)) if PLAIN.fullmatch(text.strip()) else value


def ratio(above: float, below: float) -> float:
    """Divide without leaving exact numbers, int where it comes out even.

    >>> ratio(6, 3), ratio(1, 3), ratio(1.5, 3)
    (2, Fraction(1, 3), 0.5)
    """
    if isinstance(above, float) or isinstance(below, float):
        return above / below
    found = Fraction(above) / Fraction(below)
    return cast("float", found.numerator if found.denominator == 1 else found)


def written(value: float) -> str:
    """Write a number as `exact` reads it back where it has few decimals.

    >>> written(12), written(Fraction(3, 10)), written(2.5)
    ('12', '0.3', '2.5')
    """
    return str(value) if isinstance(value, int) else repr(float(value))
