"""lm-evaluation-harness: a file of results for each checkpoint.

The step is in the name of the file, of a folder above it, or of the model that was evaluated.
"""

import re
from collections.abc import Iterator
from typing import Any

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.rules.cells import is_base, name_step, number
from evalstop.detectors.logs.series import Found

_STAMP = re.compile(r"(results|samples)?_?\d{4}-\d\d-\d\d(T[\d\-:.]+)?")
_STEP_WORD = re.compile(r"step|checkpoint|ckpt")
_SIDE_KEYS = frozenset(["versions", "config", "configs", "n-shot", "higher_is_better", "n-samples"])


def fits(document: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell by results of tasks beside their versions or settings."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("results"), dict)
        and any(isinstance(task, dict) for task in document["results"].values())
        and not _SIDE_KEYS.isdisjoint(document)
    )


def read(document: Any, log: Log, file: LogFile) -> Found:  # noqa: ANN401
    """Read the metrics of each task at the one step of this file."""
    step, log.run = _step_and_run(document, file)
    if step is None:
        without = f"{log.source}: neither the name nor the model of these results tells a step"
        return Found(warnings=[f"{without}: left out; name the files like NAME_step1000.json"])
    log.all_eval, log.own_run, log.ordered = True, False, False
    log.add({"step": step, **dict(_metrics(document["results"]))})
    log.told |= _directions(document.get("higher_is_better"), [n.metric for n in log.found])
    return assemble(log, joins="always")


def _directions(told: Any, metrics: list[str]) -> dict[str, tuple[bool, str]]:  # noqa: ANN401
    """Give the directions that newer harnesses write: task to metric to higher is better."""
    directions = {}
    for name in metrics:
        task, _, metric = name.partition(",")[0].rpartition("/")
        higher = told.get(task) if isinstance(told, dict) else None
        if isinstance(higher, dict) and isinstance(higher.get(metric), bool):
            directions[name] = (higher[metric], "higher_is_better of the harness")
    return directions


def _metrics(results: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give each task/metric, with the filter where it is one; its ``stderr`` under ``_stderr``."""
    for task, metrics in results.items():
        for key, value in (metrics if isinstance(metrics, dict) else {}).items():
            metric, _, choice = key.partition(",")
            choice = f",{choice}" if choice not in ("", "none") else ""
            if metric in ("alias", "sample_len", "samples", "name") or number(value) is None:
                continue
            if metric.endswith("_stderr"):
                yield f"{task}/{metric.removesuffix('_stderr')}{choice}_stderr", value
            else:
                yield f"{task}/{metric}{choice}", value


def _step_and_run(document: Any, file: LogFile) -> tuple[float | None, str]:  # noqa: ANN401
    """Give the step of a checkpoint and the run it belongs to."""
    stem = file.path.stem
    stamped = _STAMP.fullmatch(stem) is not None
    names = list(file.place) + ([] if stamped or stem == "results" else [stem])
    told = None
    for i in reversed(range(len(names))):
        if is_base(names[i].rsplit("_", 1)[-1]):
            told, names[i] = 0.0, names[i].rpartition("_")[0]
            break
        found = name_step(names[i])
        if found is not None:
            told, names[i] = found
            break
    if told is None:
        parent = name_step(file.path.parent.name) if not file.place else None
        told = parent[0] if parent else _model_step(document)
    root = file.path.resolve().parents[len(file.place)].name
    return told, "/".join(n for n in names if n) or root or file.run


def _model_step(document: Any) -> float | None:  # noqa: ANN401
    config = document.get("config")
    config = config if isinstance(config, dict) else {}
    arguments = config.get("model_args")
    texts = list(arguments.values()) if isinstance(arguments, dict) else [arguments]
    for text in [*texts, document.get("model_name"), config.get("model")]:
        if isinstance(text, str) and _STEP_WORD.search(text):
            found = name_step(text)
            if found is not None:
                return found[0]
    return None
