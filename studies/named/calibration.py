"""``calibration``: do thresholds keep their promise on runs that have converged.

Every detector that can be calibrated without runs of one's own is, for several budgets and lengths
of run, and then judges flat runs that it has never seen: with the noise that was assumed, and with
noise that was not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from evalstop.benchmarks.plots import INK, Drawing, looks, percent_axis
from evalstop.detectors import DETECTORS
from evalstop.detectors.calibration import FlatNoise, best_null
from evalstop.detectors.rules import is_discrete, is_monotone
from evalstop.detectors.settings import spec_of
from evalstop.simulator.worlds import build_world
from evalstop.studies.analysis import Analysis, Table
from evalstop.studies.results import Results
from evalstop.studies.study import AT, Study
from evalstop.studies.thresholds import THRESHOLDS, Calibrated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Runs whose level is 1 and whose noise has standard deviation 1.
FLAT = "never-improves:amplitude=1,hacking=0,sigma=1"
OTHER_NOISE = {
    "t3": FLAT + ",tail=3",
    "AR(1) .3": FLAT + ",rho=0.3",
    "AR(1) .6": FLAT + ",rho=0.6",
    "25 % more noise": FLAT.replace("sigma=1", "sigma=1.25"),
}
TARGET = "target=given,mean=1,sigma=1"
NEED_NO_NOISE = ("k-decline", "patience", "mann-kendall")
NOISE_KNOWN = (
    "k-decline:form=tolerance",
    "drawdown",
    "ewma-drawdown",
    "page-hinkley",
    f"cusum:{TARGET}",
    f"ewma:{TARGET}",
    f"shiryaev-roberts:on=levels,{TARGET}",
    "slope-glr:sigma=1",
    "step-glr:sigma=1",
    "unimodal-glr:sigma=1",
    "e-process:horizon=50,sigma=1",
    "e-detector:sigma=1",
    "ruptures:sigma=1",
)
NOISE_ESTIMATED = (
    "cusum",
    "ewma",
    "shiryaev-roberts",
    "slope-glr",
    "step-glr",
    "unimodal-glr",
    "e-process:horizon=50",
    "e-detector",
    "ruptures",
    "bocpd",
    "gao-fit",
    "fused",
    "kalman-trend",
    "learned",
)
BUDGETS = (0.05, 0.015, 0.01)
THRESHOLD = "calibrated:fpr={},sigma=1.0"
# The threshold for a known noise, and a statistic that estimates it.
PLUGGED_IN = (
    "slope-glr",
    "step-glr",
    "unimodal-glr",
    "e-process:horizon=50",
    "e-detector",
    "ruptures",
)
ESTIMATED = THRESHOLD.format(0.05) + ",estimated=true"
LENGTH = 20  # of the runs that wrong assumptions are shown on

STUDY = Study(
    name="calibration",
    question="Do thresholds keep their promise, and what if the noise is not as assumed?",
    worlds=(FLAT, *OTHER_NOISE.values()),
    detectors=(
        *NEED_NO_NOISE,
        *NOISE_KNOWN,
        *NOISE_ESTIMATED,
        *(name + AT + ESTIMATED for name in PLUGGED_IN),
    ),
    thresholds=tuple(map(THRESHOLD.format, BUDGETS)),
    axes={"n": (6, 10, 20, 50), "rlhf_share": (1.0,)},
    scores=("fpr_healthy",),
    seeds=10,
    runs=2000,
)
SMOKE = replace(
    STUDY,
    detectors=("k-decline", "mann-kendall", "drawdown", "slope-glr", "slope-glr" + AT + ESTIMATED),
    seeds=2,
).smaller(seeds=2, n=(6, 10))


@dataclass(frozen=True)
class Rates:
    """Shares of flat runs that are stopped, by world, detector, threshold and number of evals."""

    of: Mapping[tuple[str, str, str, int], float]
    lengths: list[int]
    n_runs: int

    def at(self, world: str, detector: str, threshold: str, n: int) -> float:
        """Give one of them; NaN if it was not asked."""
        rule, limit = DETECTORS.build(detector), THRESHOLDS.build(threshold)
        place = spec_of(build_world(world)), spec_of(rule), spec_of(limit), n
        return self.of.get(place, np.nan)

    def error(self, rate: float) -> float:
        """Give the standard error of a rate, that of its threshold included."""
        return float(np.sqrt(rate * (1 - rate) * (1 / self.n_runs + 1 / Calibrated().runs)))


def analyse(results: Results) -> Analysis:
    """Count the broken promises, and say what wrong assumptions cost."""
    frame, study = results.frame, results.study
    means = frame.groupby(["world", "detector", "threshold", "n"])["fpr_healthy"].mean()
    rates = Rates(means.to_dict(), sorted(study.axes["n"]), study.runs * study.seeds)
    plain = [spec for spec in study.detectors if AT not in spec]
    shown_n = LENGTH if LENGTH in rates.lengths else rates.lengths[-1]
    kept, findings = _kept(rates, plain)
    cost = _cost(rates, plain, shown_n)
    return Analysis(
        [*findings, *_worst(cost, shown_n)],
        [kept, cost],
        {"calibration": _drawn(cost, shown_n)},
    )


def _kept(rates: Rates, detectors: Sequence[str]) -> tuple[Table, list[str]]:
    """Lay out the rates where all is as assumed, and say which promises are broken."""
    broken, unspent, rows = [], [], []
    for spec in detectors:
        rule, row = DETECTORS.build(spec), [spec]
        null = best_null(rule, FlatNoise(sigma=1.0))
        for budget, n in product(BUDGETS, rates.lengths):
            rate = rates.at(FLAT, spec, THRESHOLD.format(budget), n)
            level, told = budget, f"{100 * rate:.2f}"
            if is_discrete(rule):
                level = null.calibrate(budget, n).realised
                told += f" ({100 * level:.2f})"
            row.append(told)
            slack = 4 * rates.error(level)
            name = f"{spec} at {budget:.3g} within {n} evals: {rate:.4f}"
            broken += [name] if rate > budget + 4 * rates.error(budget) else []
            unspent += [name] if abs(rate - level) > slack else []
        rows.append(row)
    columns = [f"{100 * b:g} %: {n}" for b, n in product(BUDGETS, rates.lengths)]
    title = "false stops of flat runs in %, by budget and number of evals (attainable level)"
    n_promises = len(detectors) * len(columns)
    findings = [
        f"{n_promises - len(broken)} of {n_promises} thresholds stop no more flat runs than their "
        "budget allows, within 4 standard errors" + "".join(f"; not {b}" for b in broken),
        f"{n_promises - len(unspent)} spend it to the full, or stop the share that they print "
        "where the statistic takes few values" + "".join(f"; not {u}" for u in unspent),
    ]
    return Table(title, ["detector", *columns], rows), findings


def _cost(rates: Rates, detectors: Sequence[str], n: int) -> Table:
    """Lay out what wrong assumptions make of one budget."""
    usual, rows = THRESHOLD.format(BUDGETS[0]), []
    for spec in detectors:
        found = [rates.at(world, spec, usual, n) for world in (FLAT, *OTHER_NOISE.values())]
        unknown = re.sub("[:,]sigma=1", "", spec)
        known = unknown != spec and not spec.endswith(TARGET)
        found.append(rates.at(FLAT, unknown, ESTIMATED, n) if known else np.nan)
        bounds = "yes" if is_monotone(DETECTORS.build(spec)) else "no"
        rows.append([spec, bounds, *("" if np.isnan(f) else f"{100 * f:.1f}" for f in found)])
    title = f"false stops of flat runs in %, budget {100 * BUDGETS[0]:g} % within {n} evals"
    columns = ["detector", "bounds rising means", "as assumed", *OTHER_NOISE, "sigma plugged in"]
    return Table(title, columns, rows)


def _worst(cost: Table, n: int) -> list[str]:
    """Say what each wrong assumption does at its worst, and to the rule that minds it least."""
    findings = []
    for i, what in enumerate(cost.columns[3:], 3):
        told = sorted((float(row[i]), row[0]) for row in cost.rows if row[i])
        if told:
            (low, least), (high, most) = told[0], told[-1]
            middle = told[len(told) // 2][0]
            findings.append(
                f"{what}: a budget of {100 * BUDGETS[0]:g} % within {n} evals becomes {middle:g} % "
                f"for the rule in the middle, from {low:g} % ({least}) to {high:g} % ({most})"
            )
    return findings


def _drawn(cost: Table, n: int) -> Drawing:
    """Draw the table of costs: a line for each detector, a dot for each kind of noise."""
    names = cost.columns[2:]

    def draw(drawn: "Figure") -> None:
        axes = drawn.subplots()
        look = looks([name] for name in names)
        for i, name in enumerate(names, 2):
            at = [(float(row[i]) / 100, y) for y, row in enumerate(cost.rows) if row[i]]
            if at:
                axes.plot(*zip(*at, strict=True), label=name, **look[name].dot)
        axes.axvline(BUDGETS[0], color=INK, linewidth=1)
        axes.set_yticks(range(len(cost.rows)), [row[0] for row in cost.rows])
        axes.invert_yaxis()
        percent_axis(axes.xaxis, f"flat runs stopped within {n} evals")
        axes.set_title(f"What becomes of a budget of {100 * BUDGETS[0]:g} %")
        drawn.legend(loc="outside lower center", ncols=3)

    return Drawing(7.5, 1.2 + 0.22 * len(cost.rows), draw)
