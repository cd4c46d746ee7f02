"""Draw the pictures of docs/choosing.md: ``python docs/examples/choosing_pictures.py [FOLDER]``.

Every number in them is calculated, or simulated from the seeds below.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evalstop.benchmarks.plots import COLOURS, FAINT, INK, figure, percent_axis, svg
from evalstop.detectors import DETECTORS, Runs, false_alarm_probability, first_alarm, scan
from evalstop.detectors.calibration import FlatNoise, FlatNull, best_null, rejected
from evalstop.detectors.rules import is_monotone
from evalstop.simulator.worlds import build_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 20260601
BUDGET, HORIZON, SIGMA = 0.05, 20, 0.05
BLUE, ORANGE, GREEN = COLOURS[:3]


def promise(drawn: "Figure") -> None:
    """Draw how many converged runs k declines in a row stop, sooner or later."""
    axes = drawn.subplots()
    evals = range(1, 31)
    for k, colour in zip((2, 3, 4, 5), COLOURS, strict=False):
        shares = [float(false_alarm_probability(k, n)) for n in evals]
        axes.plot(evals, shares, color=colour)
        axes.annotate(f"k={k}", (30.5, shares[-1]), color=colour, va="center")
    axes.axhline(BUDGET, color=INK, linewidth=1)
    axes.set_xlim(0, 33)
    percent_axis(axes.yaxis, "converged runs stopped so far")
    axes.set_xlabel("evals")
    axes.set_title("k declines in a row stop runs that are merely flat (line: a budget of 5 %)")


def spending(drawn: "Figure") -> None:
    """Draw what a threshold and a boundary have spent of the budget by each eval."""
    rule = DETECTORS.build(f"slope-glr:sigma={SIGMA}")
    null = FlatNull(rule, FlatNoise(seed=SEED))
    fresh = null.sample(HORIZON, fresh=True).within(HORIZON)
    left, right = drawn.subplots(1, 2)
    evals = np.arange(1, HORIZON + 1)
    for name, boundary, colour in (("threshold", False, BLUE), ("boundary", True, ORANGE)):
        levels = null.calibrate(BUDGET, HORIZON, boundary=boundary).threshold
        left.step(evals, np.broadcast_to(levels, HORIZON), where="mid", color=colour, label=name)
        alarms = first_alarm(fresh, levels)
        spent = [np.mean((alarms >= 0) & (alarms < n)) for n in evals]
        right.plot(evals, spent, color=colour)
    right.plot(evals, BUDGET * evals / HORIZON, color=INK, linewidth=1, linestyle=(0, (2, 2)))
    left.set_ylim(2, 4)
    left.set_title("stop at or above")
    left.legend()
    right.set_title("converged runs stopped so far")
    percent_axis(right.yaxis, "")
    for axes in (left, right):
        axes.set_xlabel("evals")


def found(drawn: "Figure") -> None:
    """Draw what each rule finds and what it stops wrongly, at thresholds of the same promise."""
    specs = (
        "patience",
        "k-decline",
        "e-process:sigma=0.05",
        "page-hinkley",
        "step-glr:sigma=0.05",
        "slope-glr",
        "mann-kendall",
        "drawdown",
        "ewma-drawdown",
        "unimodal-glr:sigma=0.05",
        "slope-glr:sigma=0.05",
        "gao-fit",
    )
    world, rng, n_runs = build_world(f"plateau:n={HORIZON},sigma={SIGMA}"), _rng(1), 3000
    kinds = np.full(n_runs, "RLHF")
    bad = world.draw(rng, kinds, np.full(n_runs, True))
    good = world.draw(rng, kinds, np.full(n_runs, False))
    left, right = drawn.subplots(1, 2, sharey=True)
    for y, spec in enumerate(specs):
        rule = DETECTORS.build(spec)
        null = best_null(rule, FlatNoise(sigma=SIGMA, seed=SEED))
        threshold = null.calibrate(BUDGET, HORIZON).threshold
        alarms = first_alarm(scan(rule, bad.runs), threshold)
        in_time = ((alarms + 1) / HORIZON >= bad.truth.peak) & (alarms < HORIZON - 1)
        wrong = first_alarm(scan(rule, good.runs), threshold) >= 0
        colour = BLUE if is_monotone(rule) else ORANGE
        left.plot(np.mean((alarms >= 0) & in_time), y, "o", color=colour)
        right.plot(wrong.mean(), y, "o", color=colour)
    left.set_yticks(range(len(specs)), specs)
    left.set_xlim(-0.03, 1.03)
    left.set_title("bad runs stopped in time")
    right.axvline(BUDGET, color=INK, linewidth=1)
    right.set_xlim(-0.03, 1.03)
    right.set_title("good runs stopped")
    right.plot([], [], "o", color=BLUE, label="promise bounds all rising means")
    right.plot([], [], "o", color=ORANGE, label="promise is for flat means only")
    right.legend(loc="lower right")
    for axes in (left, right):
        percent_axis(axes.xaxis, "")


def fleet(drawn: "Figure") -> None:
    """Draw which share of the stops is wrong, by the share of bad runs in the fleet."""
    rule, n_runs, n_fleets = DETECTORS.build("mann-kendall"), 100, 200
    null = best_null(rule, FlatNoise(seed=SEED))
    threshold = null.calibrate(BUDGET, HORIZON).threshold
    shares, rng = (0.02, 0.05, 0.1, 0.2, 0.4), _rng(2)
    falls = np.maximum(np.arange(HORIZON) - 8, 0) * 0.25
    wrong: dict[str, list[float]] = {"--fpr .05": [], "--fdr .1": []}
    right: dict[str, list[float]] = {"--fpr .05": [], "--fdr .1": []}
    for share in shares:
        bad = rng.random((n_fleets, n_runs)) < share
        scores = rng.standard_normal((*bad.shape, HORIZON)) - bad[..., None] * falls
        largest = scan(rule, Runs(scores.reshape(-1, HORIZON))).max(axis=1)
        known = {s: null.p_value(float(s), HORIZON) for s in np.unique(largest)}
        p = np.array([known[s] for s in largest]).reshape(bad.shape)
        each = np.arange(n_runs)
        by_fleet = np.array([rejected(one, each, 0.1).stops for one in p])
        stops = {"--fpr .05": largest.reshape(bad.shape) >= threshold, "--fdr .1": by_fleet}
        for name, stopped in stops.items():
            n_stopped = np.maximum(stopped.sum(axis=1), 1)
            wrong[name].append(float(((stopped & ~bad).sum(axis=1) / n_stopped).mean()))
            right[name].append(float((stopped & bad).sum() / bad.sum()))
    left, other = drawn.subplots(1, 2)
    for name, colour, marker in (("--fpr .05", BLUE, "o"), ("--fdr .1", ORANGE, "s")):
        left.plot(shares, wrong[name], color=colour, marker=marker, label=name)
        other.plot(shares, right[name], color=colour, marker=marker, label=name)
    left.axhline(0.1, color=FAINT, linewidth=1)
    left.set_title("stops that are wrong")
    left.legend()
    other.set_title("bad runs that are found")
    other.set_ylim(0, 1.03)
    for axes in (left, other):
        percent_axis(axes.yaxis, "")
        percent_axis(axes.xaxis, "bad runs in the fleet")


PICTURES: dict[str, tuple[float, float, Callable[["Figure"], None]]] = {
    "choosing-promise": (6.0, 3.4, promise),
    "choosing-spending": (7.2, 2.9, spending),
    "choosing-found": (7.2, 3.6, found),
    "choosing-fleet": (7.2, 2.9, fleet),
}


def _rng(stream: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence((SEED, stream)))


def main(folder: Path) -> None:
    """Write them all."""
    for name, (width, height, draw) in PICTURES.items():
        with figure(width, height) as drawn:
            draw(drawn)
            (folder / f"{name}.svg").write_text(svg(drawn, name), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent)
