"""Figures of studies: scores along an axis, a line with its interval for each contender."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalstop.benchmarks.plots import INK, looks
from evalstop.studies.analysis import TITLES, Drawing, with_contender, x_axis
from evalstop.studies.results import Results
from evalstop.studies.summary import summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Values of the paper: by score, at values of the axis.
Paper = Mapping[str, Mapping[float, float]]


def curves(results: Results, scores: Sequence[str], paper: Paper | None = None) -> Drawing:
    """Draw scores along the longest axis of a study, a panel for each score (and world ...).

    Parameters
    ----------
    results : Results
        The study.
    scores : sequence of str
        What to draw.
    paper : mapping, optional
        Values of the paper to draw beside ours, as stars.
    """
    paper = paper or {}
    frame = with_contender(results.frame)
    x = x_axis(results) or "contender"
    rest = [label for label in results.varying() if label != x]
    told = summarize(frame, list(dict.fromkeys([*rest, "contender", x])), scores)
    groups: list[tuple[Any, pd.DataFrame]] = [((), told)]
    if rest:
        groups = list(told.groupby(rest, sort=False))
    panels = list(product(groups, scores))
    n_columns = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    n_rows = -(-len(panels) // n_columns)
    names = list(told["contender"].unique())

    def draw(drawn: "Figure") -> None:
        grid = drawn.subplots(n_rows, n_columns, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, ((place, group), score) in zip(grid.flat, panels, strict=False):
            _panel(axes, group, x, score, names)
            if score in paper:
                stars = {"color": INK, "marker": "*", "markersize": 10, "linestyle": "none"}
                axes.plot(*zip(*paper[score].items(), strict=True), **stars, label="the paper")
            where = ", ".join(f"{name}={v}" for name, v in zip(rest, place, strict=True))
            axes.set_title(f"{TITLES.get(score, score)}{': ' if where else ''}{where}")
        told_once: dict[Any, Any] = {}
        for axes in grid.flat:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                told_once.setdefault(label, handle)
        drawn.legend(list(told_once.values()), list(told_once), loc="outside lower center", ncols=3)

    legend_rows = -(-(len(names) + bool(paper)) // 3)
    return Drawing(3.3 * n_columns + 0.4, 2.7 * n_rows + 0.2 * legend_rows + 0.3, draw)


def _panel(axes: "Axes", told: pd.DataFrame, x: str, score: str, names: Sequence[str]) -> None:
    """Draw the lines of one panel; an axis of words has its values at equal distances."""
    values = list(told[x].unique())
    numeric = all(isinstance(v, int | float | np.number) for v in values)
    look = looks([name] for name in names)
    for name, group in told.groupby("contender", sort=False):
        at = group[x] if numeric else group[x].map(values.index)
        axes.plot(at, group[score], label=name, **{**look[name].dot, **look[name].line})
        low, high = group[f"{score}_low"], group[f"{score}_high"]
        axes.fill_between(at, low, high, color=look[name].colour, alpha=0.15)
    if not numeric:
        axes.set_xticks(range(len(values)), [str(v) for v in values], rotation=30, ha="right")
    axes.set_xlabel("" if x == "contender" else x)
