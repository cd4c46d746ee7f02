"""A comparison on labelled curves as a results folder, so that it can be tracked like a study."""

import hashlib
import json
from pathlib import Path

import pandas as pd

from evalstop.benchmarks.compare_report import findings, matched_lines, natural_lines
from evalstop.benchmarks.leaderboard import Comparison
from evalstop.benchmarks.roc import Roc
from evalstop.detectors.storage import write_atomically
from evalstop.detectors.words import plural
from evalstop.studies.detection import roc_scores
from evalstop.studies.results import write_results

SHOWN = ("saved_est", "recall", "precision", "fpr", "premature_est", "regret_est")
LABELS = ("detector", "settings", "rule", "threshold")  # columns of the leaderboard, no scores


def write_compared(comparison: Comparison, folder: Path) -> None:
    """Write a comparison as one row for each rule at each threshold; the best come first.

    Parameters
    ----------
    comparison : Comparison
        What `evalstop.benchmarks.leaderboard.compare` gives.
    folder : Path
        Where its report is, or will be.
    """
    rocs: dict[str, Roc] = {entry.spec: entry.roc for entry in comparison.entries}
    thresholds = {"natural": "natural", "matched": f"matched:fpr={comparison.fpr:g}"}
    rows = []
    for line in [*matched_lines(comparison), *natural_lines(comparison)]:
        scores = {k: v for k, v in line.row._asdict().items() if k not in LABELS}
        scores["threshold_value"] = line.row.threshold
        labels = {"detector": line.spec, "threshold": thresholds[line.row.rule]}
        told = json.dumps([labels, scores, comparison.seed])
        rows.append(
            {"point": 0, **labels, "repeat": 0, **scores}
            | roc_scores(rocs[line.spec])
            | {"cell": hashlib.sha256(told.encode()).hexdigest()[:20]}
        )
    curves = plural(len(comparison.labelled), "curve")
    study = {"name": "compare", "question": f"Which rule stops the right ones of {curves}?"}
    told_all = {"study": study, "shown": SHOWN, "seed": comparison.seed, "cells": len(rows)}
    write_results(folder, told_all, pd.DataFrame(rows))
    write_atomically(folder / "findings.txt", "".join(f"{said}\n" for said in findings(comparison)))
