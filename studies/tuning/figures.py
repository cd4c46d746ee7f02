"""The figures of a search: how it went, what mattered, what is left on held-out runs."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from evalstop.benchmarks.plots import COLOURS, FAINT, INK, Drawing, shorten
from evalstop.studies.tuning.places import HELD_OUT, TRAIN, VALIDATION
from evalstop.studies.tuning.space import Axis
from evalstop.studies.tuning.tune import Tuned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "saved": "saved",
    "recall": "recall",
    "fpr_healthy": "false-positive rate",
    "delay_mean": "mean delay, evals",
}


def figures(found: Tuned) -> dict[str, Drawing]:
    """Draw what there is to be seen."""
    drawn = {"history": history(found)}
    if found.tuning.goal.single:
        drawn["held-out"] = held_out(found)
    else:
        drawn["front"] = front(found)
    if len(found.tuning.axes) > 1 and len(found.trials) > 2:
        drawn["importances"] = importances(found)
    drawn["slices"] = slices(found)
    return drawn


def history(found: Tuned) -> Drawing:
    """Draw every trial, the best so far, and the same on the validation runs."""
    wanted, tuning = found.tuning.goal.wanted, found.tuning
    number = [trial.number + 1 for trial in found.trials]

    def draw(drawn: "Figure") -> None:
        panels = drawn.subplots(1, len(wanted), squeeze=False)[0]
        for i, (axes, want) in enumerate(zip(panels, wanted, strict=True)):
            train = [trial.values[i] for trial in found.trials]
            checked = [tuning.worth(trial, VALIDATION)[i] for trial in found.trials]
            best = (np.maximum if want.higher else np.minimum).accumulate(train)
            axes.plot(number, checked, "o", color=COLOURS[1], fillstyle="none", label=VALIDATION)
            axes.plot(number, train, "o", color=COLOURS[0], markersize=4, label=TRAIN)
            axes.step(number, best, color=COLOURS[0], where="post", label="best so far on train")
            for trial in found.chosen:
                axes.axvline(trial.number + 1, color=FAINT, linewidth=0.8, zorder=0)
            axes.set(xlabel="trial", ylabel=LABELS[want.score])
        drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)

    return Drawing(max(7.4, 3.4 * len(wanted)), 3.2, draw)


def front(found: Tuned) -> Drawing:
    """Draw scores against each other on the validation runs, and the chosen on held-out runs."""
    goal, tuning = found.tuning.goal, found.tuning
    pairs = [(i, j) for i in range(len(goal.names)) for j in range(i + 1, len(goal.names))]
    worth = np.array([tuning.worth(trial, VALIDATION) for trial in found.trials])
    chosen = np.array([tuning.worth(trial, VALIDATION) for trial in found.chosen])
    fresh = np.array(
        [
            [found.shown[HELD_OUT].interval(w.score, k).value for w in goal.wanted]
            for k in range(len(found.chosen))
        ]
    )

    def draw(drawn: "Figure") -> None:
        panels = drawn.subplots(1, len(pairs), squeeze=False)[0]
        for axes, (j, i) in zip(panels, pairs, strict=True):
            axes.plot(worth[:, i], worth[:, j], "o", color=FAINT, markersize=3.5, label="trials")
            order = np.argsort(chosen[:, i])
            one = {"color": COLOURS[0], "label": "Pareto front, validation"}
            axes.plot(chosen[order, i], chosen[order, j], "o", **one)
            other = {"color": COLOURS[1], "fillstyle": "none", "label": "the same, held-out"}
            axes.plot(fresh[:, i], fresh[:, j], "s", **other)
            axes.set(xlabel=LABELS[goal.wanted[i].score], ylabel=LABELS[goal.wanted[j].score])
        drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)

    return Drawing(3.4 * len(pairs) + 0.2, 3.4, draw)


def importances(found: Tuned) -> Drawing:
    """Draw which field mattered: the share of the scores' variance that it explains (fANOVA)."""
    n_fields, n_scores = len(found.tuning.axes), len(found.tuning.goal.names)

    def draw(drawn: "Figure") -> None:
        shares = [importance(found, i) for i in range(n_scores)]
        names = sorted(shares[0], key=lambda name: shares[0][name])
        axes, height = drawn.subplots(), 0.8 / len(shares)
        for i, (want, told) in enumerate(zip(found.tuning.goal.wanted, shares, strict=True)):
            at = np.arange(len(names)) - i * height
            axes.barh(
                at, [told[n] for n in names], height, color=COLOURS[i], label=LABELS[want.score]
            )
        axes.set_yticks(np.arange(len(names)) - height * (len(shares) - 1) / 2, names)
        axes.set(xlabel="share of the variance that it explains", xlim=(0, 1))
        if len(shares) > 1:
            axes.legend(loc="lower right")

    return Drawing(6.4, 1.1 + 0.34 * n_fields * max(1, 0.6 * n_scores), draw)


@cache
def importance(found: Tuned, which: int) -> dict[str, float]:
    """Give the importance of every field for one of the scores."""
    import optuna
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    study = optuna.create_study()
    for trial in found.trials:
        study.add_trial(
            optuna.trial.create_trial(
                params=trial.params,
                distributions=dict(trial.distributions),
                value=trial.values[which],
            )
        )
    try:
        told = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=0))
    except RuntimeError:  # all trials scored the same: there is no variance to explain
        told = {}
    return {axis.name: float(told.get(axis.name, 0.0)) for axis in found.tuning.axes}


def slices(found: Tuned) -> Drawing:
    """Draw the scores against every field, later trials darker."""
    wanted, fields = found.tuning.goal.wanted, found.tuning.axes
    n_columns = min(len(fields), 3)
    n_rows = len(wanted) * -(-len(fields) // n_columns)

    def draw(drawn: "Figure") -> None:
        grid = drawn.subplots(n_rows, n_columns, squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for i, want in enumerate(wanted):
            start = i * (n_rows // len(wanted)) * n_columns
            for axes, field in zip(grid.flat[start:], fields, strict=False):
                axes.set_axis_on()
                _slice(axes, found, field, i)
                axes.set(xlabel=field.name, ylabel=LABELS[want.score])

    return Drawing(3.3 * n_columns + 0.3, 2.5 * n_rows + 0.3, draw)


def _slice(axes: "Axes", found: Tuned, field: Axis, i: int) -> None:
    values = [trial.params[field.name] for trial in found.trials]
    at: Sequence[Any] = values
    if field.choices and isinstance(field.choices[0], str):
        at = [field.choices.index(value) for value in values]
        axes.set_xticks(range(len(field.choices)), [shorten(str(c), 14) for c in field.choices])
    if field.log:
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    scores = [trial.values[i] for trial in found.trials]
    order = [trial.number for trial in found.trials]
    axes.scatter(at, scores, c=order, cmap="Blues", vmin=-0.4 * len(order), s=22, linewidths=0)
    for trial in found.chosen:
        where = at[trial.number]
        axes.plot(where, trial.values[i], "o", color=COLOURS[1], fillstyle="none", markersize=9)


def held_out(found: Tuned) -> Drawing:
    """Draw the first chosen rule and the default settings at every place, on held-out runs."""
    shown, score = found.shown[HELD_OUT], found.tuning.goal.wanted[0].score
    names = [shorten(place, 34) for place in shown.places]
    unseen = found.places(HELD_OUT)

    def draw(drawn: "Figure") -> None:
        panels = drawn.subplots(1, 2, sharey=True)
        for axes, what in zip(panels, (score, "fpr_healthy"), strict=True):
            for rule, (colour, label, up) in enumerate(
                [(COLOURS[0], "tuned", -0.12), (INK, "default settings", 0.12)]
            ):
                told = [shown.interval(what, -rule, [place]) for place in shown.places]
                value = np.array([t.value for t in told])
                ends = np.abs([[t.low for t in told], [t.high for t in told]] - value)
                axes.errorbar(
                    value, np.arange(len(names)) + up, xerr=ends, fmt="o", color=colour,
                    markersize=4.5, capsize=2, linewidth=1.2, label=label,
                )  # fmt: skip
            axes.set_xlabel(LABELS[what])
            axes.set_xlim(left=min(0, axes.get_xlim()[0]))
        if found.tuning.goal.single:
            panels[1].axvline(found.tuning.goal.fpr, color=FAINT, linestyle="dashed")
        labels = [f"{n} *" if p in unseen else n for n, p in zip(names, shown.places, strict=True)]
        panels[0].set_yticks(range(len(names)), labels)
        panels[0].invert_yaxis()
        drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)

    return Drawing(8.6, 1.3 + 0.36 * len(names), draw)
