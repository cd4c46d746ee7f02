"""A threshold with what it promises, over which horizon, and under which assumptions.

It is what ``evalstop calibrate --out`` writes and ``watch --calibration`` reads.
"""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from evalstop.detectors.calibration.order import check_rate
from evalstop.detectors.intervals import Ends
from evalstop.detectors.storage import write_atomically
from evalstop.detectors.words import plural
from evalstop.errors import UserError

FORMAT = 1  # of the saved file; raised when its meaning changes
LONGEST = 100_000  # evals of a horizon


@dataclass(frozen=True)
class Calibration:
    """A threshold and what it promises of runs whose score never truly declines.

    Parameters
    ----------
    detector : str
        Spec of the detector, as on the command line.
    threshold : float or tuple of float
        A constant, or a boundary over evals (infinite = no alarm there).
    nominal : float
        False-alarm budget per run that was asked for.
    realised : float
        P(false stop within the horizon) under the assumptions: calculated, measured on fresh runs
        (flat), or to be expected of the runs that the threshold comes from.
    interval : (float, float)
        95 % interval of `realised`; both ends equal where it is exact.
    horizon : int
        Evals per run that the promise covers.
    method : {"exact", "flat", "conformal"}
        How it was found.
    assumptions : str
        What has to hold, in words.
    runs : int or None
        Runs that the threshold comes from; none where it was calculated.
    seed : int or None
        Seed of what was drawn; none where nothing was.
    """

    detector: str
    threshold: float | tuple[float, ...]
    nominal: float
    realised: float
    interval: Ends
    horizon: int
    method: str
    assumptions: str
    runs: int | None = None
    seed: int | None = None

    @property
    def can_fire(self) -> bool:
        """Whether an alarm is possible within the horizon."""
        levels = self.threshold if isinstance(self.threshold, tuple) else (self.threshold,)
        return min(levels) < math.inf and (self.method != "exact" or self.realised > 0)

    @property
    def promise(self) -> str:
        """Say in words what is promised."""
        if self.interval[0] == self.interval[1]:
            share, how = percent(self.realised, 2), self.method
        else:
            low, high = (percent(end) for end in self.interval)
            share = percent(self.nominal)
            word = "realised" if self.method == "flat" else "expected"
            how = f"{self.method}, {word} {percent(self.realised)} [{low}, {high}]"
        within = f"within {plural(self.horizon, 'eval')}"
        if isinstance(self.threshold, tuple):
            within += f", within n evals n/{self.horizon} of that"
        return f"at most {share} false stops {within} ({how}: {self.assumptions})"


def percent(share: float, digits: int = 3) -> str:
    """Write a share in percent.

    >>> percent(0.0493), percent(0.05)
    ('4.93%', '5%')
    """
    return f"{100 * share:.{digits}g}%"


def check_budget(fpr: float, horizon: int) -> None:
    """Raise `UserError` unless a rate is in (0, 1) and a horizon is one that can be calculated."""
    check_rate(fpr)
    if horizon < 1:
        raise UserError(f"horizon: must be at least 1 eval, got {horizon}")
    if horizon > LONGEST:
        raise UserError(f"horizon: must be at most {LONGEST} evals, got {horizon}")


def save(calibration: Calibration, path: str | Path) -> None:
    """Write what `load` reads, under a temporary name first; an infinity is a text."""
    told = {"format": FORMAT, **asdict(calibration)}
    level = calibration.threshold
    told["threshold"] = [*map(_text, level)] if isinstance(level, tuple) else _text(level)
    write_atomically(path, json.dumps(told, indent=1, allow_nan=False) + "\n")


def load(path: str | Path) -> Calibration:
    """Read what `save` wrote.

    Raises
    ------
    UserError
        If it cannot be read or is of another format.
    """
    try:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        if told.pop("format") != FORMAT:
            raise UserError(f"{path}: is of another format, calibrate again")
        values = {f.name: told[f.name] for f in fields(Calibration)}
        level = values["threshold"]
        values["threshold"] = tuple(map(float, level)) if isinstance(level, list) else float(level)
        low, high = values["interval"]
        values["interval"] = (float(low), float(high))
        if values["threshold"] == () or math.isnan(sum(values["interval"])):
            raise ValueError("no numbers")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: is no calibration, or a damaged one: calibrate again") from error
    return Calibration(**values)


def _text(level: float) -> float | str:
    return level if math.isfinite(level) else str(level)
