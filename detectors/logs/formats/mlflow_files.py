"""MLflow's file store (``mlruns``), read by hand: a folder for each run, a file for each metric.

MLflow itself no longer opens such a store unless told to, and refuses a metric file that is cut.
"""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path

from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats.mlflow import Logged, read_run
from evalstop.detectors.logs.log import Ask
from evalstop.detectors.logs.rules.cells import number
from evalstop.detectors.logs.rules.names import clean
from evalstop.detectors.logs.series import Found

MAX_META = 1 << 20


def is_run(folder: Path) -> bool:
    """Tell the folder of a run by its meta.yaml."""
    return (folder / "metrics").is_dir() and bool({"run_id", "run_uuid"} & set(meta(folder)))


def meta(folder: Path) -> dict[str, str]:
    """Give the plain values of a meta.yaml: lines of ``key: value``, quoted or not."""
    path = folder / "meta.yaml"
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_META:
        return {}
    told = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key, colon, value = line.partition(":")
        if colon and not line.startswith((" ", "#")):
            told[key.strip()] = _unquote(value.strip())
    return told


def _unquote(value: str) -> str:
    if value.startswith("'") and value.endswith("'") and len(value) > 1:
        return value[1:-1].replace("''", "'")
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value.strip('"')
    return value


def identity(folder: Path) -> tuple[str, str]:
    """Give id and name of the run in a folder."""
    told = meta(folder)
    run_id = told.get("run_id") or told.get("run_uuid") or folder.name
    tag = folder / "tags" / "mlflow.runName"
    named = tag.is_file() and not tag.is_symlink() and tag.stat().st_size < MAX_META
    name = tag.read_text(encoding="utf-8", errors="replace").strip() if named else ""
    return run_id, clean(name or told.get("run_name", "") or run_id)


def read_folder(folder: Path, ask: Ask) -> Found:
    """Read the metrics of the run in a folder."""
    warnings: list[str] = []
    logged = [value for path in _metric_files(folder) for value in _values(path, folder, warnings)]
    return read_run(str(folder), identity(folder)[1], ask, logged, warnings)


def is_deleted(folder: Path) -> bool:
    """Tell a run that was deleted but is still on disk."""
    return meta(folder).get("lifecycle_stage") == "deleted"


def started(folder: Path) -> float:
    """Give when a run was started, to list runs in this order."""
    return number(meta(folder).get("start_time")) or 0.0


def _metric_files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder / "metrics", followlinks=False):
        folders.sort()
        yield from (Path(here, name) for name in sorted(names))


def _values(path: Path, folder: Path, warnings: list[str]) -> Iterator[Logged]:
    """Give the values of a metric: lines of ``timestamp value step``, each with its end."""
    metric = path.relative_to(folder / "metrics").as_posix()
    file = LogFile(path, metric)
    if path.is_symlink() or file.size == 0:
        return
    for line, text in file.lines():
        cells = text.split()
        if not cells:
            continue
        time, value, step = (number(cell) for cell in [*cells[:3], "0", ""][:3])
        if not text.endswith("\n") or len(cells) < 2 or time is None or step is None:
            warnings.append(f"{path}: line {line} is incomplete (run still writing?): skipped")
        elif value is not None and math.isfinite(time) and math.isfinite(step):
            yield Logged(metric, time, value, step)
    warnings += file.warnings
