"""Stable-Baselines3 ``monitor.csv``: a row for each training episode, without a step.

Return, length and seconds of an episode are ``r,l,t``; the steps so far are the running sum of l.
"""

import math
from collections.abc import Iterable, Mapping

from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.rules.cells import number


def fits(header: list[str]) -> bool:
    """Tell by the columns that the monitor always writes first."""
    return header[:3] == ["r", "l", "t"]


def read(table: Iterable[tuple[Mapping[str, str], int, str]], log: Log) -> None:
    """Read the episodes; their returns are of training, so that only a named metric is an eval."""
    log.all_train = True
    total = 0.0
    for record, line, restart in table:
        length = number(record["l"])
        if length is not None and math.isfinite(length):
            total += length
            log.add({**record, "step": total}, line=line, restart=restart)
    for name in log.found:
        log.aside(name.metric, "no step column: used the running sum of l")
