"""`read_logs`: from paths to curves."""

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

from evalstop.detectors.logs.curve import Reading
from evalstop.detectors.logs.curves import make_curves
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.folder_logs import read_folder
from evalstop.detectors.logs.folders import run_name
from evalstop.detectors.logs.log import Ask
from evalstop.detectors.logs.pool import pool
from evalstop.detectors.logs.reader import read_file
from evalstop.detectors.logs.rules.names import clean
from evalstop.detectors.logs.series import Found, Run
from evalstop.detectors.settings import nearest
from evalstop.detectors.words import plural
from evalstop.errors import UserError

DIRECTIONS = {"higher": True, "lower": False}


def read_logs(
    paths: Sequence[str | PathLike[str]] | str | PathLike[str],
    *,
    metrics: Iterable[str] = (),
    directions: Mapping[str, str] | None = None,
    step_every: float | None = None,
    growing: bool = False,
) -> Reading:
    """Read training logs of any known format, or folders of them.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, folders, MLflow stores; a pattern (``runs/*/log.jsonl``) where no such file exists.
    metrics : iterable of str
        Series to take as the evals, whatever their names say; none = by the rules of names.
    directions : mapping of str to "higher" or "lower"
        Which way metrics are better, where the log does not tell or tells wrong.
    step_every : float, optional
        Steps between two evals, for files that have no steps.
    growing : bool
        The files are still being written: a last line counts once its newline is there.

    Returns
    -------
    Reading
        Curves with warnings and notes; `failed` has a sentence for each path that could not be
        read while others could.

    Raises
    ------
    UserError
        If no eval curve can be read at all, or an argument names nothing that is there.
    """
    asked = {clean(metric): _direction(metric, way) for metric, way in (directions or {}).items()}
    if step_every is not None and not 0 < step_every < float("inf"):
        raise UserError(f"--step-every must be a positive number of steps, got {step_every:g}")
    ask = Ask(frozenset(map(clean, metrics)), step_every, growing)
    reading, runs = Reading(), list[Run]()
    for path in _expand([paths] if isinstance(paths, str | PathLike) else paths):
        try:
            found = read_path(path, ask, reading.failed)
        except UserError as told:
            reading.failed.append(str(told))
            continue
        runs += found.runs
        reading.warnings += found.warnings
        reading.notes += found.notes
    pooled, renamed = pool(runs)
    reading.notes += renamed
    make_curves(pooled, asked, reading)
    if not any(curve.role == "eval" for curve in reading.curves):
        raise UserError(_nothing(reading.failed))
    _check_names(reading, ask.metrics, "--metric")
    _check_names(reading, asked, "--direction")
    return reading


def read_path(path: Path, ask: Ask, failed: list[str]) -> Found:
    """Read a file or a folder; in a folder, what fails is added to `failed`."""
    try:
        if path.is_dir():
            return read_folder(path, ask, failed)
        if not path.exists():
            raise UserError(f"{path}: there is no such file or folder, check the path")
        found = read_file(LogFile(path, run_name(path), ask))
        if not found.runs:
            raise UserError(found.warnings[0])
        return found
    except OSError as told:
        raise UserError(f"{path}: cannot be read ({told.strerror or told})") from None


def _direction(metric: str, way: str) -> bool:
    if way not in DIRECTIONS:
        raise UserError(f"--direction {metric}={way}: say {metric}=higher or {metric}=lower")
    return DIRECTIONS[way]


def _expand(paths: Iterable[str | PathLike[str]]) -> Iterator[Path]:
    """Give each path once; a pattern is expanded where no file has that very name."""
    seen: dict[Path, None] = {}
    for given in paths:
        path = Path(given)
        found = [path]
        if not path.exists() and glob.has_magic(str(path)):
            found = [Path(p) for p in sorted(glob.glob(str(path)))] or [path]  # noqa: PTH207
        for each in found:
            if each.resolve() not in seen:
                seen[each.resolve()] = None
                yield each


def _nothing(failed: Sequence[str]) -> str:
    if not failed:
        return "no path was given: name a log or a folder of logs"
    more = f" (and {plural(len(failed) - 1, 'more path')})" if len(failed) > 1 else ""
    return failed[0] + more


def _check_names(reading: Reading, names: Iterable[str], option: str) -> None:
    known = list(dict.fromkeys(c.metric for c in reading.curves if c.role == "eval"))
    for name in names:
        if name not in known:
            raise UserError(f"{option} {name}: there is no such metric, {nearest(name, known)}")
