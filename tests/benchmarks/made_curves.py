"""Labelled curves for the tests of comparisons."""

import numpy as np

from evalstop.benchmarks.labelled import label_curves, labels_in_column
from evalstop.detectors.logs.curve import Curve, Reading
from evalstop.detectors.logs.eval_runs import eval_runs

LABELS = ("declined", "healthy", "plateau", "ambiguous")


def curve(run, values, label="", *, metric="acc", source="", higher=True, steps=None):
    """Make an eval curve with a label."""
    values = np.asarray(values, dtype=float)
    steps = 10.0 * np.arange(1, len(values) + 1) if steps is None else np.asarray(steps, float)
    return Curve(run, metric, "eval", higher, steps, values, source=source, labels={"label": label})


def made_up(n_runs=100, seed=0):
    """Make curves of runs with two metrics each, on a grid of 1/64: sums of them are exact."""
    rng = np.random.default_rng(seed)
    curves = []
    for i in range(n_runs):
        label = str(rng.choice(LABELS, p=(0.3, 0.3, 0.3, 0.1)))
        n = int(rng.integers(6, 14))
        p = np.arange(1, n + 1) / n
        shapes = {"declined": np.where(p < 0.4, p / 0.4, 1 - 1.2 * (p - 0.4)), "healthy": p}
        for metric in ("acc", "f1"):
            values = shapes.get(label, np.full(n, 0.8)) + 0.1 * rng.standard_normal(n)
            values = np.round(values * 64) / 64
            curves.append(curve(f"run-{i}", values, label, metric=metric, source="ab"[i % 2]))
    return curves


def labelled(curves, **options):
    """Label curves by their column."""
    evals = eval_runs(Reading(curves=list(curves)))
    return label_curves(evals, labels_in_column(evals, "label"), **options)
