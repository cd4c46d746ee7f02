"""``evalstop compare``: stop rules side by side on labelled curves."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evalstop import console
from evalstop.commands import tracked
from evalstop.commands.again import again
from evalstop.commands.curves import read_labelled
from evalstop.commands.options import (
    CURVES,
    DIRECTION,
    LABELS_ARE,
    METRIC,
    POSITIVE,
    SEED,
    SELECT,
    STEP_EVERY,
)
from evalstop.errors import UserError

if TYPE_CHECKING:
    from evalstop.benchmarks.leaderboard import Comparison, Operated
    from evalstop.detectors.rules import Detector

DEFAULT = (
    "k-decline:k=2,k-decline:k=3,patience,drawdown,ewma-drawdown,page-hinkley,mann-kendall,"
    "slope-glr,unimodal-glr,gao-fit,fixed-progress"
)
COLUMNS = (
    *("rule", "at", "TP", "FP", "precision %", "recall %", "FPR %", "delay", "saved %"),
    *("regret %", "pAUC"),
)


def compare(
    context: typer.Context,
    curves: list[Path] = CURVES,
    labels: str = typer.Option(..., help=LABELS_ARE),
    positive: str = POSITIVE,
    select: list[str] = SELECT,
    detectors: str = typer.Option(
        DEFAULT, help="Comma list of NAME[:field=value,...] or path.py:Class; all = all there are."
    ),
    fpr: float = typer.Option(0.015, help="Rate of false positives that every rule is held to."),
    metric: list[str] = METRIC,
    direction: list[str] = DIRECTION,
    step_every: float | None = STEP_EVERY,
    seed: int = SEED,
    out: Path | None = typer.Option(
        None, help="Folder of the report: leaderboard as .csv and .parquet, figures, report.html."
    ),
    track: bool = typer.Option(
        False, "--track", help="Send the results to MLflow; --out is then evalstop-out/compare."
    ),
) -> None:
    """Compare stop rules on labelled curves, at their own thresholds and at one false-alarm rate.

    Labels other than the positive one are negative; curves labelled `ambiguous` are left out.
    """
    from evalstop.benchmarks.leaderboard import compare as compare_rules
    from evalstop.detectors import DETECTORS
    from evalstop.detectors.settings import split_specs, with_all

    specs = with_all(split_specs(detectors), DETECTORS.names())
    rules = [DETECTORS.build(spec, allow_path=True) for spec in specs]
    if not rules:
        raise UserError("--detectors: there is none to compare, name one or more")
    labelled = read_labelled(curves, labels, positive, select, metric, direction, step_every)
    with console.progress() as bar:

        def counted(listed: "list[Detector]") -> "Iterable[Detector]":
            return bar.track(listed, description="detectors")

        found = compare_rules(labelled, rules, fpr=fpr, seed=seed, track=counted)
    console.notes([*found.notes, f"seed {seed}"])
    console.warnings(found.warnings)
    _show(found)
    if track and out is None:
        out = Path("evalstop-out") / "compare"
    if out is not None:
        from evalstop.benchmarks.compare_report import write_report
        from evalstop.studies.compared import write_compared

        for path in write_report(found, out, again(context, "out", "track")):
            console.say("wrote", path)
        write_compared(found, out)
        if track:
            tracked.send(out)


def _show(found: "Comparison") -> None:
    """Print both tables and what they show."""
    from evalstop.benchmarks.compare_report import findings, matched_lines, natural_lines
    from evalstop.benchmarks.pages import percent

    budget = f"{percent(found.fpr)} false positives (all negative curves)"
    tables = {
        "Each rule at its own threshold": natural_lines(found),
        f"Every rule held to {budget}": matched_lines(found),
    }
    for title, lines in tables.items():
        if lines:
            console.table(title, COLUMNS, map(_cells, lines), dense=True)
    for sentence in findings(found):
        print(console.plain(sentence))


def _cells(line: "Operated") -> tuple[str, ...]:
    """Write a line of the leaderboard, shares in percent with their intervals."""
    from evalstop.benchmarks.pages import decimals, number, percent

    row = line.row

    def interval(share: float, low: float, high: float) -> str:
        if math.isnan(share):
            return "-"
        return f"{percent(share, False)} ({percent(low, False)}-{percent(high, False)})"

    return (
        line.spec,
        number(row.threshold),
        f"{row.tp}/{row.tp + row.fn}",
        f"{row.fp}/{row.fp + row.tn}",
        interval(row.precision, row.precision_low, row.precision_high),
        interval(row.recall, row.recall_low, row.recall_high),
        interval(row.fpr, row.fpr_low, row.fpr_high),
        number(row.delay_median_est),
        percent(row.saved_est, False),
        percent(row.regret_est, False),
        decimals(row.pauc_05),
    )
