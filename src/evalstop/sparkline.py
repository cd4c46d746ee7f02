"""A curve in one line of text."""

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
GAP = " "


def sparkline(values: Sequence[float], width: int = 30) -> str:
    """Draw values as blocks of eight heights; a missing value (NaN) is a gap.

    Longer curves are drawn by the mean of neighbours, so that `width` holds.

    >>> sparkline([0, 1, math.nan, 3, 4, 7])
    '▁▂ ▄▅█'
    >>> sparkline([2.0, 2.0]), sparkline([])
    ('▄▄', '')
    """
    cells = [_mean(part) for part in _parts(values, width)]
    finite = [cell for cell in cells if math.isfinite(cell)]
    if not finite:
        return GAP * len(cells)
    low, high = min(finite), max(finite)
    span = high / 2 - low / 2  # halves: the difference of two huge values may overflow

    def block(cell: float) -> str:
        if not math.isfinite(cell):
            return GAP
        share = (cell / 2 - low / 2) / span if span > 0 else 0.45
        return BLOCKS[min(int(share * 7 + 0.5), 7)]

    return "".join(map(block, cells))


def _parts(values: Sequence[float], width: int) -> list[Sequence[float]]:
    """Split values into at most `width` parts of neighbours."""
    n = len(values)
    count = min(n, width)
    return [values[i * n // count : (i + 1) * n // count] for i in range(count)]


def _mean(values: Sequence[float]) -> float:
    finite = [v for v in values if math.isfinite(v)]
    return math.fsum(v / len(finite) for v in finite) if finite else math.nan
