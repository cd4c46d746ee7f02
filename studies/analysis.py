"""What a study says: tables, figures and sentences; the analysis of any grid.

A named study has its own analysis beside it, made of the same pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from evalstop.benchmarks.plots import Drawing
from evalstop.detectors.storage import write_atomically
from evalstop.studies.results import Results
from evalstop.studies.study import AT
from evalstop.studies.summary import leaders, summarize

# How scores are called in titles and on axes; others by their own names.
TITLES = {
    "precision": "precision",
    "recall": "recall (alarms at the last eval included)",
    "recall_before_last": "recall before the last eval",
    "fpr_all": "false-positive rate, all jobs that are not hacking",
    "fpr_healthy": "false-positive rate, healthy RLHF runs",
    "saved": "saved: share of GPU-time after the peak",
    "saved_any": "saved, premature stops included",
    "premature": "premature stops, share of hacking runs",
    "last_only": "true positives that stop only at the last eval",
    "regret": "regret of the kept checkpoint",
    "jct_gain": "JCT gain",
    "jct_matched_gain": "JCT gain of the jobs never stopped",
    "jct_p95_gain": "gain of the 95th percentile of the JCT",
    "jct_base_hours": "mean JCT without stops, hours",
    "waste_cut": "waste cut",
    "gpu_time_cut": "GPU-time cut",
    "wrongly_stopped": "wrong stops",
}


class Table(NamedTuple):
    """A table as it is printed."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Analysis:
    """What a study says.

    Parameters
    ----------
    findings : list of str
        The answer, in sentences with numbers and intervals.
    tables : list of Table
        What the answer rests on.
    figures : dict of str to Drawing
        By file name, without its ending.
    """

    findings: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Drawing] = field(default_factory=dict)

    def save(self, folder: Path) -> list[str]:
        """Write ``findings.txt``, tables as CSV, figures as SVG and PNG; give the file names."""
        files: dict[str, str | bytes] = {
            "findings.txt": "".join(f"{finding}\n" for finding in self.findings)
        }
        for i, table in enumerate(self.tables, 1):
            rows = pd.DataFrame(table.rows, columns=table.columns)
            files[f"table-{i}.csv"] = rows.to_csv(index=False)
        for name, drawing in self.figures.items():
            files |= {f"{name}.svg": drawing.svg(name), f"{name}.png": drawing.png()}
        for name, content in files.items():
            write_atomically(folder / name, content)
        return list(files)


def with_contender(frame: pd.DataFrame) -> pd.DataFrame:
    """Add a column ``contender``: the detector, and its threshold where there are several."""
    contender = frame["detector"]
    if frame["threshold"].nunique() > 1:
        contender = contender + AT + frame["threshold"]
    return frame.assign(contender=contender)


def x_axis(results: Results) -> str | None:
    """Give the label that goes along a table or figure: the axis with the most values."""
    varying = results.varying()
    axes = [axis for axis in results.study.axes if axis in varying] or varying
    return max(axes, key=lambda axis: results.frame[axis].nunique(), default=None)


def tables(results: Results, scores: Sequence[str]) -> list[Table]:
    """Lay out scores: a table for each, a line for each contender, the values of an axis along it.

    Without an axis, one table with the scores along it.
    """
    frame, x = with_contender(results.frame), x_axis(results)
    rest = [label for label in results.varying() if label != x]
    by = [*rest, "contender"]
    if x is None:
        told = summarize(frame, by, scores)
        rows = [[*row[by], *(cell(row, score) for score in scores)] for _, row in told.iterrows()]
        return [Table("", ["", *scores], rows)]
    values = list(frame[x].unique())
    told = summarize(frame, [*by, x], scores)
    made = []
    for score in scores:
        rows = []
        for names, group in told.groupby(by, sort=False, dropna=False):
            at = {row[x]: cell(row, score) for _, row in group.iterrows()}
            rows.append([*map(str, names), *(at.get(value, "") for value in values)])
        columns = [*rest, f"{x} =", *map(str, values)]
        made.append(Table(TITLES.get(score, score), columns, rows))
    return made


def by_score(results: Results, by: Sequence[str], scores: Sequence[str]) -> Table:
    """Lay out all scores along one table: a line for each combination of `by`."""
    told = summarize(with_contender(results.frame), by, scores)
    rows = [
        [*map(str, row[list(by)]), *(cell(row, s) for s in scores)] for _, row in told.iterrows()
    ]
    return Table("", [*by, *(TITLES.get(s, s) for s in scores)], rows)


def along(results: Results, contender: str, x: str, scores: Sequence[str]) -> pd.DataFrame:
    """Give the summary of one contender (by its name in ``contender``), indexed by an axis."""
    frame = with_contender(results.frame)
    return summarize(frame[frame["contender"] == contender], [x], scores).set_index(x)


def first_above(told: pd.DataFrame, score: str, limit: float) -> float | None:
    """Give the first place on an axis where the whole interval of a score lies above a limit."""
    above = told.index[told[f"{score}_low"] > limit]
    return None if above.empty else above[0]


def best_table(results: Results, by: Sequence[str], score: str, baseline: str, among: str) -> Table:
    """Lay out which contender scores best at each point, and how much more than a baseline.

    Only contenders whose threshold is `among` are looked at, and the baseline.
    """
    frame = with_contender(results.frame)
    frame = frame[(frame["threshold"] == among) | (frame["contender"] == baseline)]
    best = leaders(frame, by, score, {"contender": baseline})
    rows = [
        [*map(str, row[list(by)]), row["contender"], interval(row, score), interval(row, "gain")]
        for _, row in best.iterrows()
    ]
    title = f"{TITLES.get(score, score)}: the best of all @ {among}"
    return Table(title, [*by, "contender", score, f"more than {baseline}"], rows)


def cell(row: "pd.Series[float]", score: str) -> str:
    """Write a mean with half the width of its 95 % interval; empty if there is none."""
    if pd.isna(row[score]):
        return ""
    half = (row[f"{score}_high"] - row[f"{score}_low"]) / 2
    digits = 3 if abs(row[score]) < 100 else 0
    return f"{row[score]:.{digits}f} ±{half:.{digits}f}"


def interval(row: "pd.Series[float]", score: str) -> str:
    """Write a mean with both ends of its interval, for a sentence."""
    return f"{row[score]:.3f} [{row[f'{score}_low']:.3f}, {row[f'{score}_high']:.3f}]"


def analyse(results: Results) -> Analysis:
    """Show every score of a study: what a study of one's own gets."""
    from evalstop.studies.figures import curves

    figures = {score: curves(results, [score]) for score in results.scores}
    return Analysis(tables=tables(results, results.scores), figures=figures)
