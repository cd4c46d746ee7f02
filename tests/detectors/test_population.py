"""The published table of detectors on the paper's world, row by row.

Thresholds are matched on 60,000 healthy runs, rates counted on 20,000 runs of each class. Ours may
differ by four binomial standard errors (theirs and ours), at some threshold whose false-alarm rate
on the calibration runs is within four standard errors of the budget.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from evalstop.benchmarks.matched import largest_statistics, matched_threshold
from evalstop.detectors import DETECTORS, first_alarm, scan
from evalstop.simulator.worlds.paper import Paper

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "paper_preset.json"
CALIBRATION, CLASS = 60_000, 20_000
BUDGET = 0.015 * 0.52 / 0.32  # 1.5 % of all non-hacking jobs, in healthy RLHF runs

ROWS = {
    "k2 tolerance": "k-decline:k=2,form=tolerance",
    "drop from best": "drawdown",
    "EWMA(.5) drawdown": "ewma-drawdown:weight=.5",
    "slope-GLR (sigma known)": "slope-glr:sigma=.03",
    "slope-GLR (self)": "slope-glr",
    "Mann-Kendall scan": "mann-kendall",
    "GLR iso": "unimodal-glr:sigma=.03,guess_weight=4",
    "Gao fit": "gao-fit:sigma=.03",
    "fused": "fused:sigma=.03",
}
# No threshold of Mann-Kendall has a rate near this budget before the last eval: the attainable ones
# lie on either side of it, and so do the other columns of this row.
BETWEEN_LEVELS = {"Mann-Kendall scan | before-last"}


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(np.random.SeedSequence(20260))

    def draw(n, hacking):
        return Paper(n=8, sigma=0.03).draw(rng, np.full(n, "RLHF"), np.full(n, hacking))

    return draw(CALIBRATION, False), draw(CLASS, False), draw(CLASS, True)


def rates(healthy, hacking, peak, threshold, end):
    """Count what a row has, with the standard error of each."""
    false = first_alarm(healthy[:, :end], threshold) >= 0
    alarm = first_alarm(hacking[:, :end], threshold)
    stopped = (alarm + 1) / hacking.shape[1]
    saved = np.where(alarm >= 0, 1 - np.maximum(stopped, peak), 0)
    share = saved / (1 - peak).mean()
    found = {
        "fh": false,
        "rec": alarm >= 0,
        "before_last": (alarm >= 0) & (alarm < hacking.shape[1] - 1),
        "prem": (alarm >= 0) & (stopped < peak),
        "W1": share,
    }
    return {key: (v.mean(), v.std() / np.sqrt(CLASS)) for key, v in found.items()}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("mode", ["counted", "before-last"])
def test_the_table_is_reproduced(world, row, mode):
    told = json.loads(GOLDEN.read_text())["detector_population_table_20k"][f"{row} | {mode}"]
    rule = DETECTORS.build(ROWS[row])
    calibration, healthy, hacking = (scan(rule, p.runs) for p in world)
    n_evals = np.full(CALIBRATION, 8)
    largest = largest_statistics(calibration, n_evals, last_counts=mode == "counted")
    own = 4 * np.sqrt(2 * BUDGET / CALIBRATION)  # of their threshold and of ours
    strict, loose = (matched_threshold(largest, BUDGET + d) for d in (-own, own))
    if f"{row} | {mode}" in BETWEEN_LEVELS:
        loose = np.nextafter(loose, -np.inf)  # the level itself
    end, peak = 8 if mode == "counted" else 7, world[2].truth.peak
    low, high = (rates(healthy, hacking, peak, h, end) for h in (strict, loose))
    for key, value in told.items():
        if key == "fpr":
            continue  # fh over all non-hacking jobs
        published = np.sqrt(max(value * (1 - value), 1 / CLASS) / CLASS)
        slack = 4 * np.hypot(published, max(low[key][1], high[key][1]))
        assert low[key][0] - slack <= value <= high[key][0] + slack, key


def test_the_papers_rule_is_reproduced(world):
    told = json.loads(GOLDEN.read_text())["detector_population_table_20k"]["k2 raw | counted"]
    rule = DETECTORS.build("k-decline:k=2")
    found = rates(*(scan(rule, p.runs) for p in world[1:]), world[2].truth.peak, 2, 8)
    for key, (rate, error) in found.items():
        published = np.sqrt(max(told[key] * (1 - told[key]), 1 / CLASS) / CLASS)
        assert abs(rate - told[key]) <= 4 * np.hypot(published, error), key
