"""The figures of a comparison: ROC, AMOC, and the runs on which the rules disagree."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evalstop.benchmarks.leaderboard import PAUC_LIMIT, Comparison, Entry, Operated
from evalstop.benchmarks.plots import (
    FAINT,
    INK,
    Drawing,
    Look,
    figure,
    looks,
    percent_axis,
    shorten,
    svg,
)
from evalstop.benchmarks.roc import area
from evalstop.detectors.observation import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_RULES = 8  # under a single run: more lanes than this nobody reads
MOST_RUNS = 12
NAMES_IN_A_ROW = 4
FALSE_STOPS = "curves stopped that should go on (false positives)"
STOP, GO_ON = "#a63d00", "#1b6b4a"


def families(comparison: Comparison) -> list[list[Entry]]:
    """Give the detectors by what they measure: members of one family differ in threshold alone.

    References and detectors that say the same of every curve are left out.
    """
    found: dict[str, list[Entry]] = {}
    for entry in comparison.entries:
        if not entry.roc.degenerate:
            found.setdefault(entry.same_as or entry.spec, []).append(entry)
    return list(found.values())


def _looks(comparison: Comparison) -> dict[str, Look]:
    return looks([entry.spec for entry in family] for family in families(comparison))


def _title(family: Sequence[Entry]) -> str:
    """Name a family: its one member, or what its members share."""
    if len(family) == 1:
        return family[0].spec
    return f"{family[0].spec.partition(':')[0]} ({len(family)} settings)"


def _name_below(drawn: "Figure", axes: "Axes", title: str | None = None) -> None:
    """Name the lines below the figure, where there is room for any number of them."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        look = {"title": title, "title_fontsize": 8.5, "alignment": "left"}
        drawn.legend(handles, labels, loc="outside lower left", ncols=NAMES_IN_A_ROW, **look)


def _names_height(comparison: Comparison) -> float:
    """Give the inches that the names take."""
    return 0.2 * (1 + math.ceil(len(families(comparison)) / NAMES_IN_A_ROW))


def roc_drawing(comparison: Comparison) -> Drawing:
    """Draw recall against false positives: all of it, and where few good runs are stopped."""
    look = _looks(comparison)

    def draw(drawn: "Figure") -> None:
        whole, few = drawn.subplots(1, 2)
        for axes, limit in ((whole, 1.0), (few, 0.2)):
            axes.axvspan(0, PAUC_LIMIT, color="#f2efe6", zorder=0)
            axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.9, linestyle=(0, (1, 2)))
            for family in families(comparison):
                curve, name = family[0].roc, _title(family)
                label = f"{name}  {area(curve, PAUC_LIMIT):.2f}"
                axes.plot(curve.fpr, curve.tpr, label=label, **look[family[0].spec].line)
                for natural in (e.natural for e in family if e.natural):
                    at = natural.row.fpr, natural.row.recall
                    if natural.row.fpr <= limit:
                        axes.plot(*at, **look[natural.spec].dot, markersize=7, clip_on=False)
            axes.set(xlim=(-0.012 * limit, limit), ylim=(-0.012, 1.012))
            axes.locator_params(nbins=5)
            percent_axis(axes.xaxis, FALSE_STOPS)
            percent_axis(axes.yaxis, "declined curves stopped (recall)")
        whole.set_title("All thresholds")
        few.set_title("Few false alarms")
        title = f"mean recall up to {PAUC_LIMIT:.0%}"
        _name_below(drawn, whole, title)

    return Drawing(9.2, 4.0 + _names_height(comparison), draw)


def amoc_drawing(comparison: Comparison) -> Drawing:
    """Draw the mean delay against false positives."""
    look = _looks(comparison)

    def draw(drawn: "Figure") -> None:
        axes = drawn.subplots()
        for family in families(comparison):
            curve = family[0].amoc
            axes.plot(curve.fpr, curve.delay, label=_title(family), **look[family[0].spec].line)
        axes.set(xlim=(0, 0.5), ylim=(0, None), ylabel="mean delay after the peak, evals")
        percent_axis(axes.xaxis, FALSE_STOPS)
        _name_below(drawn, axes)

    return Drawing(9.2, 3.2 + _names_height(comparison), draw)


def rules_drawn(comparison: Comparison) -> list[Operated]:
    """Give the rules drawn on single runs: at the natural threshold, or else the matched one."""
    entries = [entry for family in families(comparison) for entry in family]
    return [entry.operated[0] for entry in entries if entry.operated][:MOST_RULES]


def most_disputed(comparison: Comparison) -> IntArray:
    """Give the curves on which the rules stop at the most different progress, one of each run.

    A rule that does not stop stops at progress 1. The spread is the standard deviation.
    """
    rules, population = rules_drawn(comparison), comparison.labelled.population
    rows = np.arange(len(population))
    stops = [np.where(r.alarms >= 0, population.progress[rows, r.alarms], 1.0) for r in rules]
    spread = np.std(stops, axis=0) if rules else np.zeros(len(population))
    order = np.argsort(-spread, kind="stable")
    _, first = np.unique(comparison.labelled.groups[order], return_index=True)
    most = order[np.sort(first)][:MOST_RUNS]
    return most[spread[most] > 0]


def disputed_svg(comparison: Comparison) -> str:
    """Draw the most disputed runs: scores, best checkpoint, and below where each rule stops.

    Empty if all rules agree.
    """
    curves, rules, look = most_disputed(comparison), rules_drawn(comparison), _looks(comparison)
    if not len(curves):
        return ""
    n_rows = -(-len(curves) // 3)
    with figure(9.2, 2.1 * n_rows + 0.6) as drawn:
        grid = drawn.subplots(n_rows, 3, squeeze=False)
        for axes in grid.flat[len(curves) :]:
            axes.set_axis_off()
        for axes, row in zip(grid.flat, curves, strict=False):
            stops = [(look[rule.spec], int(rule.alarms[row])) for rule in rules]
            _draw_run(axes, comparison, int(row), stops)
        handles = [
            grid.flat[0].plot([], [], label=rule.spec, **look[rule.spec].dot, markersize=6)[0]
            for rule in rules
        ]
        drawn.legend(handles=handles, loc="outside upper left", ncols=4)
        return svg(drawn, "disputed")


def _draw_run(
    axes: "Axes", comparison: Comparison, row: int, stops: Sequence[tuple[Look, int]]
) -> None:
    """Draw one run, with a lane for each rule below it."""
    from matplotlib.ticker import EngFormatter, FixedLocator, MaxNLocator

    curve = comparison.labelled.curves[row]
    low, high = _range(curve.values)
    lane = 0.085 * (high - low)
    axes.plot(curve.steps, curve.values, color=INK, linewidth=1.1, marker=".", markersize=3.5)
    best = curve.best()
    assert best is not None
    axes.plot(*best, marker="*", markersize=11, color=INK, markeredgecolor="white", zorder=4)
    axes.axhline(low - 0.6 * lane, color=FAINT, linewidth=0.6)
    for i, (look, alarm) in enumerate(stops):
        if alarm >= 0:
            axes.plot(curve.steps[alarm], low - (i + 1.4) * lane, **look.dot, markersize=6)
    axes.set_ylim(low - (len(stops) + 1) * lane, high + 0.9 * lane)
    axes.yaxis.set_major_locator(
        FixedLocator([t for t in MaxNLocator(4).tick_values(low, high) if low <= t <= high])
    )
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(axis="x")
    axes.tick_params(labelsize=7.5, length=2)
    axes.set_title(shorten(f"{curve.run} {curve.metric}", 28), fontsize=8)
    positive = comparison.labelled.population.hacking[row]
    word, colour = ("should stop", STOP) if positive else ("should go on", GO_ON)
    axes.set_title(word, loc="right", fontsize=8, color=colour)


def _range(values: FloatArray) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return (low, high) if low < high else (low - 0.5, high + 0.5)
