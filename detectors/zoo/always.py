"""Always stop: the other end of every table.

Its statistic is a constant, so it tells nothing about a run; its natural threshold is reached at
the first eval. Its precision is the base rate.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> first_alarm(scan(Always(), Runs.of([[0.1, 0.5, 0.9]])), Always().natural_threshold)
array([0])
"""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.zoo.never import Never


@dataclass(frozen=True, slots=True)
class Always(Never):
    """Stop every run at its first eval."""

    name: ClassVar[str] = "always"
    natural_threshold: ClassVar[float] = 0.0
