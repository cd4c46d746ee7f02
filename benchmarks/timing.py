"""How the speed benchmarks measure and report: best of several, ratios to peers in the same run."""

import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One measured thing: seconds, what it is compared with, and what we promise of it."""

    what: str
    seconds: float
    limit: float | None = None  # seconds
    peer: str = ""
    ratio: float | None = None  # peer's time over ours
    least_ratio: float | None = None

    @property
    def kept(self) -> bool:
        """Whether the promise holds."""
        quick = self.limit is None or self.seconds <= self.limit
        ahead = self.least_ratio is None or (self.ratio or 0) >= self.least_ratio
        return quick and ahead


def best_of(
    run: Callable[[], object], repeats: int = 5, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Give the shortest of several times, in seconds: the one least disturbed by others.

    `time.process_time` as the clock leaves out the time that others had on the core.
    """
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def report(title: str, rows: list[Row]) -> int:
    """Print a table; give 1 if a promise is broken."""
    print(f"\n{title}")
    print(f"{'what':<44}{'time':>11}{'limit':>10}{'ratio':>9}{'least':>7}  peer")
    for row in rows:
        limit = "" if row.limit is None else _time(row.limit)
        ratio = "" if row.ratio is None else f"{row.ratio:.0f}x"
        least = "" if row.least_ratio is None else f"{row.least_ratio:.0f}x"
        mark = "" if row.kept else "  BROKEN"
        numbers = f"{_time(row.seconds):>11}{limit:>10}{ratio:>9}{least:>7}"
        print(f"{row.what:<44}{numbers}  {row.peer}{mark}")
    return int(any(not row.kept for row in rows))


def _time(seconds: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
