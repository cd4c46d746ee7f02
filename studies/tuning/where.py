"""Which number where: a rule that counts (k-decline, patience) over horizons and noises.

This is the paper's question about k. Every number is tried on the paper's cluster with runs of
each length and noise. The number of a place is chosen on one half of the repetitions; what it is
worth is measured on the other half.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from evalstop.benchmarks.pages import percent
from evalstop.benchmarks.plots import COLOURS, FAINT, MARKERS, Drawing
from evalstop.detectors import DETECTORS
from evalstop.detectors.settings import name_of, spec_of
from evalstop.studies.analysis import Analysis, Table, interval, with_contender
from evalstop.studies.results import Results, run_study
from evalstop.studies.study import AT, Study
from evalstop.studies.summary import summarize
from evalstop.studies.tuning.goal import Goal
from evalstop.studies.tuning.measure import Advance
from evalstop.studies.tuning.space import Axis, Space

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACE = ["n", "sigma"]
SCORES = ("precision", "recall", "saved", "jct_gain")
RATE = "fpr_all"  # the paper's: among all jobs that are not hacking
TITLES = ("precision", "recall", "saved", "JCT gain")
RIVAL = "ewma-drawdown:weight=0.7"
SMOKE_VALUES, SMOKE_SEEDS = 4, 10
GOOD = 0.1  # a number is good if it saves at least this share of the GPU-time after the peaks


class Best(NamedTuple):
    """The number of one place: the one that saves most of those that keep the rate, if any does.

    One keeps it unless its interval lies above. `scores` is measured on the other half of the
    repetitions, as is `rival`.
    """

    n: int
    sigma: float
    value: int | None
    scores: "pd.Series[float] | None"
    rival: "pd.Series[float]"

    @property
    def is_good(self) -> bool:
        """Whether it is worth having."""
        return self.scores is not None and bool(self.scores["saved"] >= GOOD)


@dataclass(frozen=True, eq=False)
class Where:
    """What the study of a counting rule says.

    Parameters
    ----------
    results : Results
        All cells.
    axis : Axis
        The number.
    fpr : float
        The rate of false alarms that has to be kept, among all jobs that are not hacking.
    """

    results: Results
    axis: Axis
    fpr: float

    @property
    def label(self) -> str:
        """Column of the number."""
        return f"detector.{self.axis.name}"

    @cached_property
    def best(self) -> list[Best]:
        """Choose the number of every place."""
        frame = with_contender(self.results.frame)
        choosing, showing = (frame[frame["repeat"] % 2 == half] for half in (0, 1))
        chosen, shown = (self._told(half) for half in (choosing, showing))
        found = []
        for place, rows in chosen.groupby(PLACE, sort=False):
            at = shown[(shown[PLACE] == list(place)).all(axis=1)]
            rival = at[at["contender"].str.startswith(RIVAL)].iloc[0]
            allowed = rows[~_is_rival(rows) & self._keeps_rate(rows) & (rows["saved"] > 0)]
            value = scores = None
            if not allowed.empty:
                value = int(allowed.loc[allowed["saved"].idxmax(), self.label])
                scores = at[~_is_rival(at) & (at[self.label] == value)].iloc[0]
            n, sigma = place
            found.append(Best(int(n), float(sigma), value, scores, rival))
        return found

    def analysis(self) -> Analysis:
        """Give all but the figure, as of any study."""
        return Analysis(self.findings(), [self.table()])

    def _told(self, frame: pd.DataFrame) -> pd.DataFrame:
        return summarize(frame, [*PLACE, "contender", self.label], [*SCORES, RATE])

    def _keeps_rate(self, rows: pd.DataFrame) -> "pd.Series[bool]":
        return rows[f"{RATE}_low"] <= self.fpr

    def findings(self) -> list[str]:
        """Say which number where, and where none is good."""
        found, name = self.best, self.axis.name
        said = []
        for n in dict.fromkeys(b.n for b in found):
            here = [b for b in found if b.n == n]
            told = ", ".join(
                f"{name}={b.value} at sigma {b.sigma:g} (saves {interval(b.scores, 'saved')}, "
                f"JCT gain {interval(b.scores, 'jct_gain')})"
                for b in here
                if b.is_good and b.scores is not None
            )
            said.append(f"{n} evals: {told or f'no {name} is good'}")
        bad = [b for b in found if not b.is_good]
        if bad:
            b = max(bad, key=lambda b: b.rival["saved"])
            most = "none keeps the rate" if b.scores is None else interval(b.scores, "saved")
            said.append(
                f"no {name} is good at {len(bad)} of {len(found)} places: of those that stop at "
                f"most {percent(self.fpr)} of the jobs that are not hacking none saves "
                f"{percent(GOOD)}; at {b.n} evals, sigma {b.sigma:g} the best saves {most}, "
                f"{RIVAL} at that rate {interval(b.rival, 'saved')}"
            )
        return said

    def table(self) -> Table:
        """Lay out horizons against noises."""
        found = {(b.n, b.sigma): b for b in self.best}
        horizons, noises = (dict.fromkeys(n for n, _ in found), dict.fromkeys(s for _, s in found))
        rows = [[str(n), *(self._cell(found[n, s]) for s in noises)] for n in horizons]
        title = (
            f"{self.axis.name} that saves most within {percent(self.fpr)} false alarms (of all "
            f"jobs that are not hacking), what it saves, in brackets what {RIVAL} does"
        )
        return Table(title, ["evals", *(f"sigma {s:g}" for s in noises)], rows)

    def _cell(self, best: Best) -> str:
        rival = f"({best.rival['saved']:.2f})"
        if not best.is_good or best.scores is None:
            most = "" if best.scores is None else f"; {best.value}: {best.scores['saved']:.2f}"
            return f"none is good{most} {rival}"
        return f"{best.value}: {best.scores['saved']:.2f} {rival}"

    def told(self) -> list[dict[str, Any]]:
        """Give every place for a program; nothing where no number keeps the rate."""
        kinds = {self.axis.name: "scores", RIVAL: "rival"}
        return [
            {"n": b.n, "sigma": b.sigma, "best": b.value, "good": b.is_good}
            | {
                name: {score: _ends(getattr(b, of), score) for score in (*SCORES, RATE)}
                for name, of in kinds.items()
                if getattr(b, of) is not None
            }
            for b in self.best
        ]

    def drawing(self) -> Drawing:
        """Draw all scores against the number: a column for each horizon, a line for each noise."""
        told = self._told(with_contender(self.results.frame))
        horizons, noises = (list(told[label].unique()) for label in PLACE)

        def draw(drawn: "Figure") -> None:
            grid = drawn.subplots(
                len(SCORES), len(horizons), squeeze=False, sharex=True, sharey="row"
            )
            for column, n in enumerate(horizons):
                for row, score in enumerate(SCORES):
                    axes = grid[row, column]
                    axes.axhline(0, color=FAINT, linewidth=0.6)
                    for i, sigma in enumerate(noises):
                        here = told[(told["n"] == n) & (told["sigma"] == sigma)]
                        self._line(axes, here, score, i, f"sigma {sigma:g}")
                    if not row:
                        axes.set_title(f"{n} evals")
                    if not column:
                        axes.set_ylabel(TITLES[row])
                grid[-1, column].set_xlabel(self.axis.name)
                grid[-1, column].set_xticks(told[self.label].unique())
            handles, labels = grid[0, 0].get_legend_handles_labels()
            drawn.legend(handles, labels, loc="outside upper center", ncols=len(noises))

        return Drawing(2.7 * len(horizons) + 0.6, 1.75 * len(SCORES) + 0.6, draw)

    def _line(self, axes: Any, here: pd.DataFrame, score: str, i: int, label: str) -> None:  # noqa: ANN401
        """Draw one noise: filled where the rate is kept; the rival as a dotted line."""
        rule = here[~_is_rival(here)]
        look = {"color": COLOURS[i], "marker": MARKERS[i]}
        axes.plot(rule[self.label], rule[score], **look, fillstyle="none", label=label)
        kept = rule[self._keeps_rate(rule)]
        axes.plot(kept[self.label], kept[score], **look, linestyle="none", markersize=7)
        rival = here[_is_rival(here)][score].iloc[0]
        axes.axhline(rival, color=COLOURS[i], linewidth=0.9, linestyle=(0, (1, 2)))


def _ends(row: "pd.Series[float]", score: str) -> dict[str, float]:
    ends = {"value": score, "low": f"{score}_low", "high": f"{score}_high"}
    return {name: float(row[column]) for name, column in ends.items()}


def _is_rival(rows: pd.DataFrame) -> "pd.Series[bool]":
    return rows["contender"].str.startswith(RIVAL)


def counting_axis(space: Space) -> Axis | None:
    """Give the number of a rule of ours that counts, and is left to the search; else ``None``."""
    one = space.axes[0] if len(space.axes) == 1 else None
    ours = type(space.base) in DETECTORS.members
    return one if one and ours and one.integer and space.sets_threshold else None


def where_study(space: Space, axis: Axis, goal: Goal, *, smoke: bool) -> Study:
    """Make the study of a counting rule."""
    name = name_of(space.base)
    return Study(
        name=f"{name}-where",
        question=f"Which {axis.name} of {name} for how many evals and how much noise?",
        worlds=("paper",),
        schedulers=("srtf-est",),
        detectors=(
            f"{spec_of(space.base)}{AT}natural",
            f"{RIVAL}{AT}matched:fpr={goal.fpr!r},among=all",
        ),
        axes={
            "n": (8, 20) if smoke else (8, 20, 40),
            "sigma": (0.03, 0.12) if smoke else (0.01, 0.03, 0.06, 0.12),
            f"detector.{axis.name}": tuple((axis.values or [])[: SMOKE_VALUES if smoke else None]),
        },
        scores=(*SCORES, RATE),
        seeds=SMOKE_SEEDS if smoke else 20,
        runs=500,
    )


def ask_where(  # noqa: PLR0913 - what, where to, and how
    space: Space,
    axis: Axis,
    goal: Goal,
    out: Path,
    *,
    seed: int,
    jobs: int,
    smoke: bool = False,
    advance: Advance = lambda done, total: None,
) -> Where:
    """Run the study, or go on where that was interrupted."""
    study = where_study(space, axis, goal, smoke=smoke)
    results = run_study(study, out, seed=seed, jobs=jobs, advance=advance)
    return Where(results, axis, goal.fpr)
