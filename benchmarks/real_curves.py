"""Labelled real curves under a promise: every rule at its threshold of flat noise, none tuned.

The threshold of a curve of n evals is the one that flat noise reaches within n evals with the
promised probability. A rule that needs to know the scale of the noise is told one value for all
curves, and, where the curves have standard errors, a second time the median of each curve's own; a
rule with a natural threshold (k declines) is judged at that too. Intervals are of 95 %, clustered
by run: metrics of one run are not independent.

``python -m evalstop.benchmarks.real_curves CURVES.csv SOURCE SPEC...`` prints the table for curves
of one source (``all``: of all) with labels in the column ``shape_label``, or else ``label``.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evalstop.benchmarks.intervals import resample, share_interval
from evalstop.benchmarks.labelled import LabelledCurves, label_curves, labels_in_column
from evalstop.benchmarks.scores import score
from evalstop.detectors import DETECTORS, Runs
from evalstop.detectors.calibration.flat import FlatNull
from evalstop.detectors.calibration.flat_noise import FlatNoise
from evalstop.detectors.calibration.noise_level import ANY_NOISE, noise_level
from evalstop.detectors.logs import read_logs
from evalstop.detectors.logs.eval_runs import eval_runs
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.rules import Detector, natural_threshold
from evalstop.detectors.scan import first_alarm, first_true, scan
from evalstop.errors import UserError

FLAT = FlatNoise(sigma=0.05, runs=20_000, seed=5)
ALPHA = 0.05
HEAD = ("rule", "threshold", "found", "precision", "recall", "wrong", "FPR", "premature", "saved")


def promised_alarms(detector: Detector, runs: Runs, noise: FlatNoise = FLAT) -> IntArray:
    """Give the first alarm of each run (-1 none), at the threshold of flat noise for its length.

    Parameters
    ----------
    detector : Detector
        Reads the scores only.
    runs : Runs
        What it judges.
    noise : FlatNoise
        What the thresholds come from, for `ALPHA` of false stops.
    """
    sample = FlatNull(detector, noise).sample(int(runs.n_evals.max()))
    by_length = {n: sample.threshold(ALPHA, int(n)) for n in np.unique(runs.n_evals)}
    thresholds = np.array([by_length[n] for n in runs.n_evals])
    return first_true(scan(detector, runs) >= thresholds[:, None])


def alarms(detector: Detector, labelled: LabelledCurves) -> Iterator[tuple[str, IntArray]]:
    """Yield each way to set the threshold, with the alarms that it gives."""
    natural = natural_threshold(detector)
    if natural is not None:
        yield "its own", first_alarm(scan(detector, labelled.runs), natural)
    yield "promise", promised_alarms(detector, labelled.runs)
    unit = standard_errors(labelled)
    if needs_noise(detector) and (unit > 0).all():
        runs = Runs(labelled.runs.score / unit[:, None], labelled.runs.n_evals)
        yield "own stderr", promised_alarms(detector, runs, replace(FLAT, sigma=1.0))


def needs_noise(detector: Detector) -> bool:
    """Tell whether somebody has to say how large the noise is, or has said it in the settings."""
    try:
        return noise_level(detector, 1, None).size != ANY_NOISE.size
    except UserError:
        return True


def standard_errors(labelled: LabelledCurves) -> FloatArray:
    """Give the median standard error of each curve's evals, NaN where it has none."""
    known = (c.stderr for c in labelled.curves)
    return np.array([np.nan if e is None else np.median(e) for e in known])


def row(labelled: LabelledCurves, stops: IntArray, draws: FloatArray) -> list[str]:
    """Count and score the alarms of one rule."""
    told, stopped, bad = score(labelled.population, stops), stops >= 0, labelled.population.hacking

    def share(hits: NDArray[np.bool_], among: NDArray[np.bool_]) -> str:
        low, high = share_interval(hits & among, among, labelled.groups, draws)
        return f"{(hits & among).sum() / max(among.sum(), 1):.2f} [{low:.2f}, {high:.2f}]"

    return [
        f"{told.tp:.0f}/{bad.sum()}",
        share(bad, stopped),
        share(stopped, bad),
        f"{told.fp_all:.0f}/{(~bad).sum()}",
        share(stopped, ~bad),
        f"{told.premature:.2f}",
        f"{told.saved:.2f}",
    ]


def main(path: Path, source: str, specs: Sequence[str]) -> None:
    """Print one line for each rule and threshold."""
    evals = eval_runs(read_logs([path])).select({} if source == "all" else {"source": source})
    columns = {name for curve in evals.curves for name in curve.labels}
    column = "shape_label" if "shape_label" in columns else "label"
    labelled = label_curves(evals, labels_in_column(evals, column))
    print(*labelled.notes, *labelled.warnings, sep="\n")
    draws = resample(int(labelled.groups.max()) + 1, 2000, FLAT.seed)
    print(*HEAD, sep=" | ")
    for spec in specs:
        for threshold, stops in alarms(DETECTORS.build(spec, allow_path=True), labelled):
            print(spec, threshold, *row(labelled, stops, draws), sep=" | ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, metavar="CURVES.csv")
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("specs", nargs="+", metavar="SPEC")
    try:
        main(**vars(parser.parse_args()))
    except UserError as told:
        sys.exit(f"error: {told}")
