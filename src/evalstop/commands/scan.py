"""``evalstop scan``: the statistic of one detector at every eval of recorded curves."""

import csv
import io
import sys
from pathlib import Path

import typer

from evalstop import console
from evalstop.commands.curves import read_curves, split_pairs
from evalstop.commands.options import CURVES, DIRECTION, METRIC, SETTINGS, STEP_EVERY


def scan(
    curves: list[Path] = CURVES,
    detector: str = typer.Option("mann-kendall", help="NAME[:field=value,...] or path.py:Class."),
    settings: list[str] = SETTINGS,
    metric: list[str] = METRIC,
    direction: list[str] = DIRECTION,
    step_every: float | None = STEP_EVERY,
    out: Path | None = typer.Option(None, help="CSV file to write instead of printing it."),
) -> None:
    """Print the statistic after every eval: run,metric,step,statistic (-inf = cannot judge yet).

    The run should stop where the statistic first reaches a threshold.
    """
    from evalstop.detectors import DETECTORS
    from evalstop.detectors import scan as scan_runs
    from evalstop.detectors.logs.export import number
    from evalstop.detectors.rules import inputs_of
    from evalstop.detectors.storage import write_atomically

    rule = DETECTORS.build(detector, more=split_pairs(settings, "--set"), allow_path=True)
    evals = read_curves(curves, metric, direction, step_every)
    if evals.derived_progress and "progress" in inputs_of(rule):
        console.notes(["no progress in the curves: it is taken as step / last step of each run"])
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("run", "metric", "step", "statistic"))
    for curve, statistics in zip(evals.curves, scan_runs(rule, evals.runs).tolist(), strict=True):
        for step, statistic in zip(curve.steps.tolist(), statistics, strict=False):
            rows.writerow((curve.run, curve.metric, number(step), statistic))
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        write_atomically(out, text.getvalue())
