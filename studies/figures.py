"""Figures of studies: scores along an axis, a line with its interval for each contender."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalstop.benchmarks.plots import COLOURS, FAINT, INK, Drawing, looks, shorten
from evalstop.studies.analysis import TITLES, with_contender, x_axis
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
    places: list[tuple[Any, pd.DataFrame]] = [((), told)]
    if rest:
        places = list(told.groupby(rest, sort=False))
    panels = list(product(scores, places))
    n_columns = min(len(places) if rest else len(scores), 3)
    if not rest and len(scores) == 4:
        n_columns = 2
    n_rows = -(-len(panels) // n_columns)
    names = list(told["contender"].unique())

    def draw(drawn: "Figure") -> None:
        grid = drawn.subplots(n_rows, n_columns, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        handles: dict[Any, Any] = {}
        for axes, (score, (place, group)) in zip(grid.flat, panels, strict=False):
            _panel(axes, group, x, score, names)
            if score in paper:
                stars = {"color": INK, "marker": "*", "markersize": 10, "linestyle": "none"}
                axes.plot(*zip(*paper[score].items(), strict=True), **stars, label="the paper")
            if rest:
                named = zip(rest, place, strict=True)
                axes.set_title(", ".join(f"{name}={value}" for name, value in named))
                axes.set_ylabel(score)
            else:
                axes.set_title(TITLES.get(score, score))
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        drawn.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=legend_columns
        )

    legend_columns = min(n_columns, 2)
    legend_rows = -(-(len(names) + bool(paper)) // legend_columns)
    return Drawing(3.4 * n_columns + 0.4, 2.5 * n_rows + 0.19 * legend_rows + 0.3, draw)


def dots(results: Results, by: str, scores: Sequence[str]) -> Drawing:
    """Draw scores of things that have no order: a line for each, a panel for each score.

    Parameters
    ----------
    results : Results
        The study.
    by : str
        The label that names them: ``contender``, ``scheduler`` ...
    scores : sequence of str
        What to draw, with 95 % intervals.
    """
    told = summarize(with_contender(results.frame), [by], scores)
    names = [shorten(str(name), 34) for name in told[by]]

    def draw(drawn: "Figure") -> None:
        panels = drawn.subplots(1, len(scores), sharey=True, squeeze=False)[0]
        for panel, score in zip(panels, scores, strict=True):
            ends = [told[score] - told[f"{score}_low"], told[f"{score}_high"] - told[score]]
            panel.errorbar(
                told[score], range(len(names)), xerr=ends, fmt="o", color=COLOURS[0], capsize=3
            )
            panel.set_title(TITLES.get(score, score))
            panel.axvline(0, color=FAINT, linewidth=0.8)
            panel.set_yticks(range(len(names)), names)
        panels[0].invert_yaxis()

    return Drawing(2.6 + 2.7 * len(scores), 0.8 + 0.26 * len(names), draw)


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
