"""``evalstop read``: training logs of any known format, as curves."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evalstop import console
from evalstop.commands.options import AS_JSON, DIRECTION, METRIC, PATHS, STEP_EVERY
from evalstop.errors import UserError
from evalstop.sparkline import sparkline

if TYPE_CHECKING:
    from evalstop.detectors.logs import Reading


def read(
    paths: list[Path] = PATHS,
    as_json: bool = AS_JSON,
    as_csv: bool = typer.Option(False, "--csv", help="Tidy CSV, which every command reads."),
    metric: list[str] = METRIC,
    direction: list[str] = DIRECTION,
    step_every: float | None = STEP_EVERY,
) -> int:
    """Read training logs and show the curves in them."""
    from evalstop.detectors.logs import read_logs, tidy_csv
    from evalstop.detectors.logs.export import as_json as curve_as_json

    if as_json and as_csv:
        raise UserError("--json and --csv: give one of the two")
    reading = read_logs(
        paths, metrics=metric, directions=split_directions(direction), step_every=step_every
    )
    console.notes(reading.notes)
    console.warnings(reading.warnings)
    if as_json:
        console.print_json([curve_as_json(curve) for curve in reading.curves], one_line=True)
    elif as_csv:
        sys.stdout.write(tidy_csv(reading))
    else:
        _show(reading)
    for sentence in reading.failed:
        console.error(sentence)
    return 2 if reading.failed else 0


def split_directions(given: list[str]) -> dict[str, str]:
    """Split ``METRIC=higher`` at its last equals sign."""
    split: dict[str, str] = {}
    for text in given:
        metric, equals, way = text.rpartition("=")
        if not equals:
            raise UserError(f"--direction {text}: say METRIC=higher or METRIC=lower")
        if split.setdefault(metric, way) != way:
            raise UserError(f"--direction {metric}: it is given as {split[metric]} and as {way}")
    return split


def _show(reading: "Reading") -> None:
    """Print the evals, then what the runs log of their training."""
    evals = [curve for curve in reading.curves if curve.role == "eval"]
    rows = []
    for curve in evals:
        best = curve.best()
        step, value = (_step(best[0]), f"{best[1]:.4g}") if best else ("-", "-")
        rows.append(
            (
                curve.run,
                curve.metric,
                {True: "higher", False: "lower", None: "?"}[curve.higher_is_better],
                len(curve.steps),
                _step(curve.steps[-1]),
                step,
                value,
                sparkline(curve.values.tolist()),
            )
        )
    columns = ("run", "metric", "better", "evals", "last step", "best step", "best", "curve")
    console.table("", columns, rows)
    others = [
        (c.run, c.metric, c.role.replace("_", " "), len(c.steps), sparkline(c.values.tolist()))
        for c in reading.curves
        if c.role != "eval"
    ]
    if others:
        console.table("train side", ("run", "series", "role", "points", "curve"), others)


def _step(step: float) -> str:
    return f"{step:.15g}"
