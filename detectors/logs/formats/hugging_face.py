"""Hugging Face Trainer: ``trainer_state.json``, or its ``log_history`` alone.

The file tells which evals were best, and so the direction of the metric it selects by.
"""

import math
import re
from typing import Any

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.problems import NoCurveError
from evalstop.detectors.logs.rules.cells import number
from evalstop.detectors.logs.series import Found


def fits(document: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell a trainer's state by its history."""
    return isinstance(document, dict) and isinstance(document.get("log_history"), list)


def read(document: Any, log: Log) -> Found:  # noqa: ANN401
    """Read the history."""
    history = [row for row in document["log_history"] if isinstance(row, dict)]
    if not history:
        raise NoCurveError(
            f"{log.source}: log_history is empty (0 rows), nothing was logged before this "
            "checkpoint; give a later one"
        )
    for row in history:
        log.add(row)
    log.told |= best_direction(document, history)
    return assemble(log)


def best_direction(
    state: dict[str, Any], history: list[dict[str, Any]]
) -> dict[str, tuple[bool, str]]:
    """Give the direction of the metric whose best value the state names.

    The metric is the one that has this value at this step as its extreme; its name is not in the
    state.
    """
    best, step = number(state.get("best_metric")), number(state.get("best_global_step"))
    if step is None:
        named = re.search(r"checkpoint-(\d+)", str(state.get("best_model_checkpoint")))
        step = float(named.group(1)) if named else None
    if best is None or step is None:
        return {}
    told: dict[str, tuple[bool, str]] = {}
    for metric in {key: None for row in history for key in row if key.startswith("eval_")}:
        values = [(number(row.get("step")), number(row.get(metric))) for row in history]
        finite = [(s, v) for s, v in values if v is not None and math.isfinite(v)]
        low, high = (
            min((v for _, v in finite), default=best),
            max((v for _, v in finite), default=best),
        )
        if low < high and (step, best) in finite and best in (low, high):
            told[metric] = (best == high, "best_metric of the trainer's state")
    return told
