"""What a format is."""

from collections.abc import Callable
from dataclasses import dataclass

from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.series import Found


@dataclass(frozen=True)
class Format:
    """One format of log files.

    Parameters
    ----------
    name : str
        As users call it.
    fits : callable
        Tells by the content of a file whether it is of this format, cheaply.
    read : callable
        Reads it; `UserError` says what is wrong with it.
    """

    name: str
    fits: Callable[[LogFile], bool]
    read: Callable[[LogFile], Found]
