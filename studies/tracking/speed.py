"""Speed of tracking: ``python -m evalstop.studies.tracking.speed [CELLS]``, 300 by default.

Sends made-up results to a fresh store, again when all is there, and the same runs as MLflow's own
fluent functions send them, to a store that MLflow makes. Exit status 1 if a promise is broken.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from evalstop.benchmarks.timing import Row, report
from evalstop.studies.results import write_results
from evalstop.studies.tracking import track
from evalstop.studies.tracking.cards import Card, point_cards
from evalstop.studies.tracking.client import client
from evalstop.studies.tracking.folder import read_folder

LIMIT = 0.035  # seconds a run
LEAST_RATIO = 1.2  # on a quiet disk it is about 2, on a busy one 5
FLUENT = "MLflow's fluent functions"


def made_up(folder: Path, n_points: int) -> Path:
    """Write results of six detectors along two axes, without computing any."""
    rng = np.random.default_rng(1)
    rules = ("k-decline", "drawdown", "slope-glr", "gao-fit", "unimodal-glr", "mann-kendall")
    scores = ("precision", "recall", "saved", "regret", "auc", "pauc_05")
    rocs = [f"tpr_at_fpr_{permille:03d}" for permille in (1, 10, 50, 100, 500)]
    rows = [
        {
            "point": i // len(rules),
            "world": "paper",
            "detector": rules[i % len(rules)],
            "threshold": "natural",
            "sigma": (1 + i // len(rules) // 2) / 1000,
            "n": (8, 16)[i // len(rules) % 2],
            "repeat": 0,
            **dict(zip((*scores, *rocs), rng.random(len(scores) + len(rocs)), strict=True)),
            "cell": f"{i:020x}",
        }
        for i in range(n_points)
    ]
    study = {"name": "speed", "question": "How fast?"}
    told = {"study": study, "shown": scores[:4], "seed": 1, "cells": n_points}
    write_results(folder, told, pd.DataFrame(rows))
    return folder


def fluent(cards: list[Card], store: Path) -> None:
    """Send runs as a training script would."""
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{store}")
    mlflow.set_experiment("fluent")
    for card in cards:
        with mlflow.start_run(run_name=card.name):
            mlflow.log_params(dict(card.params))
            mlflow.log_metrics({value.key: value.value for value in card.values})


def main(n_points: int = 300) -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{here}/ours.db"
        folder = made_up(here / "results", n_points)
        with client() as to:  # made and migrated before the clock starts
            to.search_experiments()
        ours = _seconds(lambda: track(folder)) / n_points
        again = _seconds(lambda: track(folder)) / n_points
        few = [card for _, card in point_cards(read_folder(folder))][:100]
        fluent(few[:1], here / "theirs.db")
        theirs = _seconds(lambda: fluent(few, here / "theirs.db")) / len(few)
        rows = [
            Row(FLUENT, theirs),
            Row("one run", ours, LIMIT, FLUENT, theirs / ours, LEAST_RATIO),
            Row("one run that is there already", again, LIMIT / 3),
        ]
    return report(f"tracking {n_points:,} points", rows)


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
