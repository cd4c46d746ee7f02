"""What a comparison leaves in a folder: the table, the figures and a page with both."""

import csv
import io
import math
from pathlib import Path

from evalstop.benchmarks.compare_figures import (
    amoc_drawing,
    disputed_svg,
    roc_drawing,
    rules_drawn,
)
from evalstop.benchmarks.leaderboard import Comparison, Operated, Row
from evalstop.benchmarks.pages import page, percent
from evalstop.benchmarks.plots import inline
from evalstop.detectors.storage import write_atomically
from evalstop.detectors.words import plural

COLUMNS = {
    "rule": "The detector, with the settings that differ from its defaults.",
    "threshold": "The rule stops a run when its statistic is at or above this.",
    "TP": "True positives: curves that should be stopped and were, at any eval.",
    "FP": "False positives: curves that should go on and were stopped.",
    "precision": "Of the stopped curves, the share that should be.",
    "recall": "Of the curves that should be stopped, the share that was.",
    "FPR": "Of the curves that should go on, the share that was stopped.",
    "delay": "Evals from the estimated peak to the stop: the median over those stopped after it.",
    "premature": "Of the curves that should be stopped, the share stopped before the peak.",
    "saved": "Of the training after the peaks, the share given back; a premature stop gives none.",
    "regret": "What the kept checkpoint lacks to the best one, as a share of the curve's range, "
    "mean over all curves. A stopped run keeps its best so far, any other its last.",
    "pAUC": "Mean recall over false-positive rates from 0 to 5 %, for all thresholds; guessing "
    "gives 0.025.",
}


LABELS = {
    "roc": "Recall against false positives",
    "amoc": "Mean delay against false positives",
    "disputed": "Single runs with the stops of each rule",
}


def write_report(comparison: Comparison, folder: Path, command: str = "") -> list[Path]:
    """Write the table (CSV, Parquet), the figures (SVG, PNG) and a page; give their paths.

    Equal comparisons give equal bytes.

    Parameters
    ----------
    comparison : Comparison
        What `compare` gives.
    folder : Path
        Made if it is not there.
    command : str
        How to make the same again, shown at the foot of the page.
    """
    drawings = {"roc": roc_drawing(comparison), "amoc": amoc_drawing(comparison)}
    figures = {name: drawing.svg(name) for name, drawing in drawings.items()}
    files: dict[str, str | bytes] = {
        "leaderboard.csv": _csv(comparison.rows),
        "leaderboard.parquet": _parquet(comparison.rows),
        **{f"{name}.svg": text for name, text in figures.items()},
        **{f"{name}.png": drawing.png() for name, drawing in drawings.items()},
        "report.html": _html(comparison, figures, command),
    }
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]


def _csv(rows: list[Row]) -> str:
    """Write the table; a score that has nothing to be counted on is an empty cell."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(Row._fields)
    out.writerows([_known(value) for value in row] for row in rows)
    return text.getvalue()


def _known(value: str | float) -> str | float | None:
    return None if isinstance(value, float) and math.isnan(value) else value


def _parquet(rows: list[Row]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = zip(Row._fields, zip(*rows, strict=True), strict=True)
    file = io.BytesIO()
    pq.write_table(pa.table({name: [_known(v) for v in told] for name, told in columns}), file)
    return file.getvalue()


def _html(comparison: Comparison, figures: dict[str, str], command: str = "") -> str:
    """Make the page, with the figures in it."""
    from markupsafe import Markup

    natural, matched = natural_lines(comparison), matched_lines(comparison)
    texts = {**figures, "disputed": disputed_svg(comparison)}
    drawn = {
        name: Markup(inline(text, LABELS[name])) if text else "" for name, text in texts.items()
    }
    return page(
        "compare.html.j2",
        title=f"Stop rules on {plural(len(comparison.labelled), 'labelled curve')}",
        lead=comparison.labelled.notes,
        remarks=[*comparison.notes[len(comparison.labelled.notes) :], *comparison.warnings],
        findings=findings(comparison),
        columns=COLUMNS.items(),
        natural=natural,
        matched=matched,
        best_of=lambda lines: getattr(_most_saving(lines), "spec", None),
        fpr=comparison.fpr,
        drawn_at=_drawn_at(comparison),
        seed=comparison.seed,
        command=command,
        roc=drawn["roc"],
        amoc=drawn["amoc"],
        disputed=drawn["disputed"],
    )


def natural_lines(comparison: Comparison) -> list[Operated]:
    """Give the rules at their own thresholds, in the order asked for."""
    return [e.natural for e in comparison.entries if e.natural]


def matched_lines(comparison: Comparison) -> list[Operated]:
    """Give the rules at the matched rate, what saves most first; of equal ones the first asked."""
    lines = [e.matched for e in comparison.entries if e.matched and not e.same_as]
    return sorted(lines, key=lambda line: -line.row.saved_est)


def findings(comparison: Comparison) -> list[str]:
    """Say in a sentence or two what the tables show."""
    said = []
    natural = _most_saving(natural_lines(comparison))
    if natural:
        row = natural.row
        said.append(
            f"At their own thresholds {natural.spec} saves most, {percent(row.saved_est)} of the "
            f"training after the peaks; it stops {row.fp} of {row.fp + row.tn} curves that should "
            "go on."
        )
    matched = _most_saving(matched_lines(comparison))
    if matched:
        said.append(
            f"Held to {percent(comparison.fpr)} false positives {matched.spec} saves most, "
            f"{percent(matched.row.saved_est)}, and stops {matched.row.tp} of "
            f"{matched.row.tp + matched.row.fn} curves that should be stopped."
        )
    return said


def _most_saving(lines: list[Operated]) -> Operated | None:
    """Give the rule that saves most, if one saves anything."""
    saving = [line for line in lines if line.row.saved_est > 0 and line.spec != "always"]
    return max(saving, key=lambda line: line.row.saved_est, default=None)


def _drawn_at(comparison: Comparison) -> str:
    kinds = {rule.row.rule for rule in rules_drawn(comparison)}
    words = {"natural": "its own threshold", "matched": "the matched one"}
    return " or ".join(words[kind] for kind in ("natural", "matched") if kind in kinds)
