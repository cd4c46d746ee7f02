"""What the commands that judge recorded curves share: how these are read."""

from pathlib import Path
from typing import TYPE_CHECKING

from evalstop import console
from evalstop.commands.read import split_directions
from evalstop.errors import UserError

if TYPE_CHECKING:
    from evalstop.benchmarks.labelled import LabelledCurves, Labels
    from evalstop.detectors.logs.eval_runs import EvalRuns


def read_curves(
    paths: list[Path], metric: list[str], direction: list[str], step_every: float | None
) -> "EvalRuns":
    """Read curves, tell what there is to be told, and turn them into runs for a detector.

    A path that cannot be read is an error: a comparison without it would be another one.
    """
    from evalstop.detectors.logs import read_logs
    from evalstop.detectors.logs.eval_runs import eval_runs

    reading = read_logs(
        paths, metrics=metric, directions=split_directions(direction), step_every=step_every
    )
    if reading.failed:
        raise UserError(reading.failed[0])
    console.notes(reading.notes)
    console.warnings(reading.warnings)
    return eval_runs(reading)


def split_pairs(given: list[str], option: str) -> dict[str, str]:
    """Split ``NAME=VALUE`` at its first equals sign."""
    split = {}
    for text in given:
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise UserError(f"{option} {text}: say NAME=VALUE")
        split[column] = value
    return split


def read_labelled(
    paths: list[Path],
    labels: str,
    positive: str,
    select: list[str],
    metric: list[str],
    direction: list[str],
    step_every: float | None,
) -> "LabelledCurves":
    """Read curves with their labels; what there is to tell of these, the caller tells."""
    from evalstop.benchmarks.labelled import label_curves

    evals = read_curves(paths, metric, direction, step_every)
    chosen = split_pairs(select, "--select")
    return label_curves(evals, _labels_of(evals, labels), positive=positive, select=chosen)


def _labels_of(evals: "EvalRuns", labels: str) -> "Labels":
    """Take labels from a column of the curves if there is one of that name, else from a file."""
    from evalstop.benchmarks.labelled import labels_in_column, labels_in_file

    if not any(labels in curve.labels for curve in evals.curves) and Path(labels).is_file():
        return labels_in_file(Path(labels))
    return labels_in_column(evals, labels)
