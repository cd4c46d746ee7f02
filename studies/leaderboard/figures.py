"""Figures of the leaderboard: what rules save, in which world, and which of them are alike."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalstop.benchmarks.paired import Ranks
from evalstop.benchmarks.plots import COLOURS, FAINT, INK, Drawing, shorten
from evalstop.detectors.words import plural
from evalstop.studies.leaderboard.boards import ONE, OWN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_NAME = 34
WORDS = {OWN: "a threshold for each world", ONE: "one threshold for all worlds"}


def saved_dots(table: pd.DataFrame, reference: str) -> Drawing:
    """Draw what rules save on a board: a line for each, a dot for each kind of threshold.

    Parameters
    ----------
    table : DataFrame
        Standings of one board at one budget.
    reference : str
        The rule that is drawn as a vertical line for each kind of threshold.
    """
    rules = list(dict.fromkeys(table.loc[~table["reference"], "detector"]))
    kinds = list(table["threshold"].unique())
    by = str(table["by"].iloc[0])

    def draw(drawn: "Figure") -> None:
        axes = drawn.subplots()
        for i, kind in enumerate(kinds):
            rows = table[table["threshold"] == kind].set_index("detector")
            told = rows.loc[rules]
            ends = [told[by] - told[f"{by}_low"], told[f"{by}_high"] - told[by]]
            places = np.arange(len(rules)) + 0.16 * (i - (len(kinds) - 1) / 2)
            look: dict[str, Any] = {"color": COLOURS[i], "fmt": "os"[i], "markersize": 5}
            axes.errorbar(told[by], places, xerr=ends, capsize=2, label=WORDS[kind], **look)
            best = f"the oracle posterior, {WORDS[kind]}"
            axes.axvline(rows.loc[reference, by], color=COLOURS[i], linestyle="dashed", label=best)
        axes.set_yticks(range(len(rules)), [shorten(rule, LONGEST_NAME) for rule in rules])
        axes.set_ylim(len(rules) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.set_xlabel("saved: share of GPU-time after the peak")
        drawn.legend(loc="outside lower center", ncols=1 if len(kinds) == 1 else 2)

    return Drawing(7.6, 1.4 + 0.24 * len(rules), draw)


def world_map(table: pd.DataFrame, references: Sequence[str]) -> Drawing:
    """Draw what each rule saves in each world, in percent: the darker, the more.

    Parameters
    ----------
    table : DataFrame
        Rows rules, columns worlds, values shares; reference lines come with them.
    references : sequence of str
        Rules that are not looked at for the most of a world (bold).
    """
    values = table.to_numpy(dtype=np.float64)
    most = np.nanmax(values[~table.index.isin(references)], axis=0)

    def draw(drawn: "Figure") -> None:
        axes = drawn.subplots()
        axes.imshow(values, cmap="YlGnBu", vmin=0, vmax=1, aspect="auto")
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                if np.isnan(value):
                    continue
                best = value == most[j] and table.index[i] not in references
                axes.text(
                    j,
                    i,
                    f"{100 * value:.0f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if value > 0.55 else INK,
                    fontweight="bold" if best else "normal",
                )
        names = [shorten(str(world), 22) for world in table.columns]
        axes.set_xticks(range(len(names)), names, rotation=90)
        axes.xaxis.tick_top()
        axes.set_yticks(
            range(len(table)), [shorten(str(rule), LONGEST_NAME) for rule in table.index]
        )
        axes.grid(visible=False)

    return Drawing(2.9 + 0.42 * values.shape[1], 1.6 + 0.21 * values.shape[0], draw)


def critical_difference(rules: Sequence[str], ranks: Ranks, n_worlds: int) -> Drawing:
    """Draw mean ranks; bars join rules whose ranks differ by less than the critical difference."""
    order = np.argsort(ranks.mean, kind="stable")
    names = [shorten(rules[i], LONGEST_NAME) for i in order]
    means = ranks.mean[order]
    groups = alike(means, ranks.critical)

    def draw(drawn: "Figure") -> None:
        axes = drawn.subplots()
        places = np.arange(len(names))
        axes.plot(means, places, "o", color=COLOURS[0], markersize=5)
        for i, (first, last) in enumerate(groups):
            x = means.max() + (0.04 + 0.025 * i) * max(np.ptp(means), 1)
            axes.plot([x, x], [first - 0.25, last + 0.25], color=INK, linewidth=2.4)
        axes.plot([means[0], means[0] + ranks.critical], [-1.2, -1.2], color=COLOURS[1])
        axes.annotate(
            f"critical difference {ranks.critical:.1f}",
            (means[0] + ranks.critical, -1.2),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=COLOURS[1],
        )
        axes.set_yticks(places, names)
        axes.set_ylim(len(names) - 0.4, -1.8)
        axes.set_xlabel(f"mean rank over {plural(n_worlds, 'world')} (1 = saves most)")
        axes.grid(visible=True, axis="x", color=FAINT, alpha=0.3)

    return Drawing(7.6, 1.1 + 0.22 * len(names), draw)


def alike(means: np.ndarray, critical: float) -> list[tuple[int, int]]:
    """Give the largest groups of neighbours, by index, whose mean ranks are within the difference.

    Parameters
    ----------
    means : array (n,)
        Mean ranks, ascending.

    >>> alike(np.array([1.0, 1.5, 3.0, 3.2]), 1.8)
    [(0, 1), (1, 3)]
    """
    groups: list[tuple[int, int]] = []
    for first in range(len(means)):
        last = int(np.searchsorted(means, means[first] + critical, side="left")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups
