"""Labelled real curves under a promise: every rule at its threshold of flat noise, none tuned.

The threshold of a curve of n evals is the one that flat noise reaches within n evals with the
promised probability. Rules that need to know the scale of the noise get one value for all curves;
a rule with a natural threshold (k declines) can be judged at that instead.

``python -m evalstop.benchmarks.real_curves CURVES.csv SOURCE SPEC...`` prints the table for curves
of one source with labels in the column ``shape_label``.
"""

import sys
from pathlib import Path

import numpy as np

from evalstop.benchmarks.labelled import LabelledCurves, label_curves, labels_in_column
from evalstop.benchmarks.scores import Scores, score
from evalstop.detectors import DETECTORS
from evalstop.detectors.calibration.flat import FlatNull
from evalstop.detectors.calibration.flat_noise import FlatNoise
from evalstop.detectors.logs import read_logs
from evalstop.detectors.logs.eval_runs import eval_runs
from evalstop.detectors.rules import Detector, natural_threshold
from evalstop.detectors.scan import first_true, scan

FLAT = FlatNoise(sigma=0.05, runs=20_000, seed=5)


def judge(
    detector: Detector,
    labelled: LabelledCurves,
    *,
    alpha: float = 0.05,
    natural: float | None = None,
) -> Scores:
    """Score a rule on labelled curves.

    Parameters
    ----------
    alpha : float
        Promised share of false stops on a flat curve, within its number of evals.
    natural : float, optional
        Judge at this threshold instead.
    """
    n_evals = labelled.runs.n_evals
    thresholds = np.full(len(n_evals), natural, dtype=float)
    if natural is None:
        null = FlatNull(detector, FLAT)
        sample = null.sample(int(n_evals.max()))
        by_length = {n: sample.threshold(alpha, int(n)) for n in np.unique(n_evals)}
        thresholds = np.array([by_length[n] for n in n_evals])
    alarms = first_true(scan(detector, labelled.runs) >= thresholds[:, None])
    return score(labelled.population, alarms)


def main(path: str, source: str, *specs: str) -> None:
    """Print one line for each rule, and for rules with a natural threshold one more at that."""
    evals = eval_runs(read_logs([Path(path)])).select({"source": source})
    labelled = label_curves(evals, labels_in_column(evals, "shape_label"))
    print(*labelled.notes, *labelled.warnings, sep="\n")
    for spec in specs:
        detector = DETECTORS.build(spec, allow_path=True)
        natural = natural_threshold(detector)
        for threshold in (None,) if natural is None else (natural, None):
            told = judge(detector, labelled, natural=threshold)
            print(
                f"{spec} {'at flat-null .05' if threshold is None else 'as it is'}: "
                f"precision {told.precision:.2f} recall {told.recall:.2f} "
                f"FPR {told.fpr_healthy:.2f} premature {told.premature:.2f}"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
