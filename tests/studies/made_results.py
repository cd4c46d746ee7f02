"""Results folders that cost nothing: made-up numbers in the layout that tracking reads."""

from itertools import product

import numpy as np
import pandas as pd

from evalstop.studies.results import write_results

SCORES = ("saved", "recall", "fpr_healthy", "auc")
ROC = ("tpr_at_fpr_001", "tpr_at_fpr_015", "tpr_at_fpr_500")


def made_results(
    folder,
    *,
    detectors=("k-decline", "drawdown", "ewma-drawdown:weight=0.7"),
    thresholds=("natural",),
    axes=None,
    labels=None,
    repeats=2,
    seed=0,
    name="made",
):
    """Write a folder with a cell for each combination; `labels` are words, `axes` numbers."""
    axes = {"sigma": (0.01, 0.12)} if axes is None else axes
    labels = {"world": ("paper",)} if labels is None else labels
    rng = np.random.default_rng(seed)
    rows = []
    for point, at in enumerate(product(*labels.values(), *axes.values())):
        where = dict(zip((*labels, *axes), at, strict=True))
        common = {label: where.pop(label) for label in labels}
        for detector, threshold, repeat in product(detectors, thresholds, range(repeats)):
            rows.append(
                {"point": point, **common, "detector": detector, "threshold": threshold, **where}
                | {"repeat": repeat}
                | dict(zip((*SCORES, *ROC), rng.random(len(SCORES) + len(ROC)), strict=True))
                | {"cell": f"{seed:04x}{len(rows):016x}"}
            )
    study = {"name": name, "question": "Is it tracked?", "axes": axes}
    told = {"study": study, "shown": list(SCORES[:3]), "seed": seed, "cells": len(rows)}
    frame = pd.DataFrame(rows)
    write_results(folder, told, frame)
    (folder / "findings.txt").write_text("k=2 is fine\nat low noise\n")
    (folder / "report.html").write_text("<h1>A report</h1>")
    (folder / "saved.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return frame
