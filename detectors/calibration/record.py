"""Thresholds that keep a promise: P(false stop within so many evals) <= fpr.

A `Calibration` is a threshold with what it promises, over which horizon, and under which
assumptions. It is what ``evalstop calibrate --out`` writes and ``watch --calibration`` reads.

>>> from evalstop.detectors.zoo.k_decline import KDecline
>>> exact(KDecline(), fpr=0.05, horizon=10).promise
'at most 4.3% false stops within 10 evals (exact: flat curve, independent continuous noise)'
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from evalstop.detectors.counting import false_alarm_probability, k_for
from evalstop.detectors.rules import Detector
from evalstop.detectors.settings import name_of, spec_of
from evalstop.detectors.storage import write_atomically
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.patience import Patience
from evalstop.errors import UserError

FORMAT = 1  # of the saved file; raised when its meaning changes
COUNTED = "flat curve, independent continuous noise"


@dataclass(frozen=True)
class Calibration:
    """A threshold and what it promises of runs whose score never truly declines.

    Parameters
    ----------
    detector : str
        Spec of the detector, as on the command line.
    threshold : float or tuple of float
        A constant, or a boundary over evals.
    nominal : float
        False-alarm budget per run that was asked for.
    realised : float
        P(false stop within the horizon) under the assumptions; at most `nominal`.
    interval : (float, float)
        95 % interval of `realised`; both ends equal where it is exact.
    horizon : int
        Evals per run that the promise covers.
    method : {"exact", "flat", "conformal"}
        How it was found.
    assumptions : str
        What has to hold, in words.
    """

    detector: str
    threshold: float | tuple[float, ...]
    nominal: float
    realised: float
    interval: tuple[float, float]
    horizon: int
    method: str
    assumptions: str

    @property
    def promise(self) -> str:
        """Say in words what is promised."""
        share = f"{100 * self.realised:.2g}%"
        how = f"{self.method}: {self.assumptions}"
        return f"at most {share} false stops within {self.horizon} evals ({how})"


def save(calibration: Calibration, path: str | Path) -> None:
    """Write what `load` reads, under a temporary name first."""
    told = {"format": FORMAT, **asdict(calibration)}
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
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: is no calibration ({error!r}), calibrate again") from error
    for name in ("threshold", "interval"):
        if isinstance(values[name], list):
            values[name] = tuple(values[name])
    return Calibration(**values)


def exact(detector: Detector, fpr: float, horizon: int) -> Calibration:
    """Calibrate by an exact calculation.

    k-decline and patience by counting permutations: no noise level needed; the budget chooses the
    rule's own k, since their statistics are whole numbers.

    Parameters
    ----------
    detector : Detector
        Its k is replaced by the one that the budget allows.
    fpr : float
        False-alarm budget per run, in (0, 1).
    horizon : int
        Evals per run, at least 1.

    Raises
    ------
    UserError
        If no exact calculation is known for the detector.
    """
    if not 0 < fpr < 1:
        raise UserError(f"fpr: must be between 0 and 1, got {fpr:g}")
    if horizon < 1:
        raise UserError(f"horizon: must be at least 1 eval, got {horizon}")
    if isinstance(detector, KDecline):
        counted: KDecline | Patience = replace(detector, k=k_for(fpr, horizon, detector.name))
    elif isinstance(detector, Patience):
        counted = replace(detector, evals=k_for(fpr, horizon, detector.name))
    else:
        raise UserError(
            f"{name_of(detector)}: no exact calibration is known for it, give --threshold instead"
        )
    return replace(natural_promise(counted, horizon), nominal=fpr)


def natural_promise(detector: KDecline | Patience, horizon: int) -> Calibration:
    """Say what the rule's own k promises, exactly."""
    k = int(detector.k if isinstance(detector, KDecline) else detector.evals)
    realised = float(false_alarm_probability(k, horizon, detector.name))
    return Calibration(
        detector=spec_of(detector),
        threshold=detector.natural_threshold,
        nominal=realised,
        realised=realised,
        interval=(realised, realised),
        horizon=horizon,
        method="exact",
        assumptions=COUNTED,
    )
