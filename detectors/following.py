"""Logs that still grow: what was seen of them is kept across rotations and restarts."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evalstop.detectors.logs.curve import Curve, Reading
from evalstop.detectors.storage import to_json, write_atomically
from evalstop.errors import UserError

FORMAT = 1  # of the saved file; raised when its meaning changes


class Followed:
    """The curves of growing logs, joined from reading to reading.

    A log is read as a whole each time. Evals that it no longer has, since the file was rotated, are
    remembered; evals that it has anew, since the run was resumed from an earlier step, replace the
    old ones at and after that step; a curve that is not there this time stays as it was.

    Parameters
    ----------
    path : path
        Where `save` keeps them; an existing file is gone on from.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.curves: dict[tuple[str, str, str], Curve] = {}
        if self.path.exists():
            self.curves = {_key(c): c for c in _load(self.path)}

    def merge(self, reading: Reading) -> Reading:
        """Join a new reading to what is remembered; give all of it."""
        for curve in reading.curves:
            self.curves[_key(curve)] = _join(self.curves.get(_key(curve)), curve)
        return replace(reading, curves=list(self.curves.values()))

    def save(self) -> None:
        """Write what is remembered, under a temporary name first."""
        told = {"format": FORMAT, "curves": [_record(c) for c in self.curves.values()]}
        write_atomically(self.path, json.dumps(told, allow_nan=False))


def _key(curve: Curve) -> tuple[str, str, str]:
    return curve.source, curve.run, curve.metric


def _join(old: Curve | None, new: Curve) -> Curve:
    if old is None or not len(new.steps):
        return old or new
    kept = old.steps < new.steps[0]
    return replace(
        new,
        steps=np.concatenate([old.steps[kept], new.steps]),
        values=np.concatenate([old.values[kept], new.values]),
        nonfinite=tuple(n for n in old.nonfinite if n[0] < new.steps[0]) + new.nonfinite,
        stderr=None,  # detectors read values only
        n=None,
    )


_KEPT = ("run", "metric", "role", "higher_is_better", "source")


def _record(curve: Curve) -> dict[str, Any]:
    told = {name: getattr(curve, name) for name in _KEPT}
    return {**told, "steps": to_json(curve.steps), "values": to_json(curve.values)}


def _load(path: Path) -> Iterable[Curve]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["format"] != FORMAT:
            raise UserError(
                f"{path}: is of format {told['format']}, this version reads {FORMAT}; remove it"
            )
        return [
            Curve(
                **{name: record[name] for name in _KEPT},
                steps=np.array([float(v) for v in record["steps"]]),
                values=np.array([float(v) for v in record["values"]]),
            )
            for record in told["curves"]
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: is no saved watch, or a damaged one: remove it") from error
