"""What a search says: sentences, tables and figures, a page with all of it, and its results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from evalstop.benchmarks.pages import number, page, percent
from evalstop.benchmarks.plots import Drawing, inline
from evalstop.detectors.settings import spec_of
from evalstop.detectors.storage import write_atomically
from evalstop.detectors.words import plural
from evalstop.studies.analysis import Analysis, Table
from evalstop.studies.report import TEMPLATES
from evalstop.studies.results import write_results
from evalstop.studies.tuning.figures import LABELS, figures
from evalstop.studies.tuning.goal import WORST_FPR
from evalstop.studies.tuning.measure import Interval, Resampled
from evalstop.studies.tuning.places import HELD_OUT, PARTS, TRAIN, VALIDATION
from evalstop.studies.tuning.tune import RATE, Tuned
from evalstop.studies.tuning.where import Where

CAPTIONS = {
    "history": "Every trial in its order: the score on train runs that the search was told, and "
    "the same rule on validation runs. Lines: the trials that were chosen.",
    "front": "Scores against each other, on validation runs. Blue: no other trial is better in "
    "all of them. Squares: the same rules on held-out runs.",
    "importances": "How much of the variance of the scores each field explains (fANOVA, train).",
    "slices": "The score on train runs against each field; later trials are darker, the chosen "
    "ones have a ring.",
    "held-out": "Held-out runs of every world, with 95 % intervals. *: a world that the search "
    "never saw. Dashed: the false alarms that are allowed.",
    "where": "Filled: within the allowed false alarms; a JCT gain of others comes from stopping "
    "healthy jobs too. Dotted: what the other rule has at that rate, threshold matched.",
}

PARTING = (
    "The search was told the scores on train runs. The winner was chosen on validation runs, which "
    "the search had not seen. What it is worth was measured on held-out runs, which neither had."
)


class Section(NamedTuple):
    """A part of the page."""

    title: str
    texts: list[str]
    tables: list[Table]
    figures: dict[str, Drawing]


def sections(found: Tuned, where: Where | None = None) -> list[Section]:
    """Lay out what there is to be seen."""
    drawn, parts = figures(found), []
    if where is not None:
        name = where.axis.name
        title = f"Which {name} for how many evals and how much noise"
        texts = [f"Each {name} was chosen on one half of the repetitions, what it is worth was "
                 "measured on the other half, on the paper's cluster under SRTF-Est."]  # fmt: skip
        parts.append(Section(title, texts, [where.table()], {"where": where.drawing()}))
    texts = [PARTING, _parts(found)]
    if found.tuning.goal.single:
        title = "What is left on held-out runs"
        if found.tuning.own_threshold:
            title = "One setting for all worlds"
        shown = {"held-out": drawn.pop("held-out")}
        parts.append(Section(title, texts, [overview(found), by_place(found)], shown))
    else:
        front = {"front": drawn.pop("front")}
        parts.append(Section("What can be had for what", texts, [front_table(found)], front))
    return [*parts, Section("How the search went", [], [], drawn)]


def analyse(found: Tuned, where: Where | None = None) -> Analysis:
    """Say what was found."""
    parts = sections(found, where)
    tables = [table for part in parts for table in part.tables]
    drawn = {name: drawing for part in parts for name, drawing in part.figures.items()}
    return Analysis(sentences(found, where), tables, drawn)


def sentences(found: Tuned, where: Where | None) -> list[str]:
    """Say all that was found in sentences."""
    return [*(where.findings() if where else []), *findings(found)]


def findings(found: Tuned) -> list[str]:
    """Say which rule, what it is worth on held-out runs, and how much of that is tuning."""
    tuning, shown = found.tuning, found.shown[HELD_OUT]
    same, unseen = found.places(TRAIN), found.places(HELD_OUT)
    trials = plural(len(found.trials), "trial")
    if not tuning.goal.single:
        saves = [shown.interval("saved", k).value for k in range(len(found.chosen))]
        rates = [shown.interval("fpr_healthy", k).value for k in range(len(found.chosen))]
        return [
            f"shown: {plural(len(found.chosen), 'rule')} of {trials} that none beats on validation "
            f"runs; on held-out runs these save {percent(min(saves))} to {percent(max(saves))} at "
            f"{percent(min(rates))} to {percent(max(rates))} false alarms"
        ]
    score, best = tuning.goal.names[0], found.best
    tuned, fresh = found.shown[TRAIN].interval(score, 0), shown.interval(score, 0, same)
    new = f", {told(shown.interval(score, 0, unseen))} on worlds never seen" if unseen else ""
    allowed = f"{percent(tuning.goal.fpr)} are allowed"
    said = [
        f"{found.spec(best)} is best on validation runs, of {trials}: {score} "
        f"{told(fresh)} on held-out runs{' of the worlds it was tuned on' if new else ''}{new}; "
        f"the tuned score, which is not what to expect, was {told(tuned)}",
        f"it stops {shares(shown.interval('fpr_healthy', 0))} of the healthy ones, {allowed}",
    ]
    if tuning.own_threshold and best.told[VALIDATION][WORST_FPR] > tuning.goal.fpr:
        said.append("no trial keeps that in every world: the one that exceeds it least is shown")
    there = told(shown.interval(score, -1))
    default = f"over all held-out runs the default settings have {score} {there}"
    if tuning.own_threshold:
        rate = shown.interval("fpr_healthy", -1)
        return [*said, f"{default} and stop {shares(rate)} of the healthy runs"]
    seemed = signed(found.shown[TRAIN].gain(score))
    said.append(
        f"{default}: tuning is worth {signed(shown.gain(score))} (on train runs it seemed {seemed})"
    )
    return said


def overview(found: Tuned) -> Table:
    """Lay out the chosen rule and the default settings on all three parts."""
    scores = [*LABELS, "precision", "premature"]
    unseen = found.places(HELD_OUT)
    groups: list[tuple[str, str, list[str] | None]] = [
        (TRAIN, "train, tuned on these", None),
        (VALIDATION, "validation, chosen on these", None),
        (HELD_OUT, f"held-out{', worlds tuned on' if unseen else ''}", found.places(TRAIN)),
    ]
    if unseen:
        groups.append((HELD_OUT, "held-out, worlds chosen on", found.places(VALIDATION)))
        groups.append((HELD_OUT, "held-out, worlds never seen", unseen))
    rows = []
    for part, name, places in groups:
        shown = found.shown[part]
        for rule, who in ((0, "tuned"), (-1, "default settings")):
            rows.append([name, who, *(_cell(shown, s, rule, places) for s in scores)])
    return Table("", ["runs", "rule", *(LABELS.get(s, s) for s in scores)], rows)


def by_place(found: Tuned) -> Table:
    """Lay out the held-out runs of every place."""
    shown, score = found.shown[HELD_OUT], found.tuning.goal.names[0]
    seen = {name: place.first for place in found.tuning.places for name in [place.name]}
    rows = [
        [
            place,
            {TRAIN: "trained on", VALIDATION: "chosen on", HELD_OUT: "never"}[seen[place]],
            number(shown.thresholds[place][0]),
            _cell(shown, score, 0, [place]),
            _cell(shown, score, -1, [place]),
            signed(shown.gain(score, [place])),
            _cell(shown, "fpr_healthy", 0, [place]),
        ]
        for place in shown.places
    ]
    columns = ["held-out runs of", "other runs seen", "threshold", f"{score}, tuned"]
    return Table("", [*columns, f"{score}, default", "difference", "false-positive rate"], rows)


def front_table(found: Tuned) -> Table:
    """Lay out the Pareto front, on validation and held-out runs."""
    tuning, shown = found.tuning, found.shown[HELD_OUT]
    rows = []
    for k, trial in enumerate(found.chosen):
        rate = trial.params.get(RATE)
        rows.append(
            [
                found.spec(trial),
                "its own" if rate is None else f"matched, {rate:.2%}",
                *(number(trial.told[VALIDATION][w.score] or 0) for w in tuning.goal.wanted),
                *(told(shown.interval(w.score, k)) for w in tuning.goal.wanted),
            ]
        )
    default = "its own" if tuning.own_threshold else f"matched, {tuning.default_rate:.2%}"
    fresh = [told(shown.interval(w.score, -1)) for w in tuning.goal.wanted]
    rows.append(["default settings", default, *("" for _ in fresh), *fresh])
    names = tuning.goal.names
    columns = ["rule", "threshold", *(f"{n}, validation" for n in names)]
    return Table("Pareto front", [*columns, *(f"{n}, held-out" for n in names)], rows)


def save(found: Tuned, where: Where | None, out: Path, command: str) -> list[Path]:
    """Write results, tables, figures and the page; equal searches give equal bytes."""
    analysis = analyse(found, where)
    write_results(out, _told(found), trials_table(found))
    names = analysis.save(out)
    drawn = {name: (out / f"{name}.svg").read_text("utf-8") for name in analysis.figures}
    write_atomically(out / "report.html", report(found, where, drawn, command))
    return [
        out / n for n in ("report.html", "results.csv", "results.parquet", "study.json", *names)
    ]


def trials_table(found: Tuned) -> pd.DataFrame:
    """Lay out all trials: their fields, what they scored, and held-out scores of the chosen."""
    tuning = found.tuning
    rank = {trial.number: k for k, trial in enumerate(found.chosen)}
    rows = []
    for trial in found.trials:
        shown = found.shown[HELD_OUT]
        at = rank.get(trial.number)
        rows.append(
            {
                "point": trial.number,
                "detector": spec_of(tuning.space.base),
                "threshold": "natural" if tuning.own_threshold else "matched",
                **{_column(name): value for name, value in trial.params.items()},
                "repeat": 0,
                **{f"value_{i}": value for i, value in enumerate(trial.values)},
                **{f"{part}_{n}": v for part in PARTS[:2] for n, v in trial.told[part].items()},
                **{
                    f"held_out_{name}": shown.interval(name, at).value if at is not None else None
                    for name in (*LABELS, "precision")
                },
                "chosen": at is not None,
                "cell": f"{tuning.search.name}-{trial.number}",
            }
        )
    return pd.DataFrame(rows)


def _column(field: str) -> str:
    """Name the column of a field; a rule of the user's may call one like a column of ours."""
    taken = ("point", "detector", "threshold", "repeat", "chosen", "cell")
    return f"detector.{field}" if field in taken else field


def as_json(found: Tuned, where: Where | None) -> dict[str, Any]:
    """Give everything for a program."""
    tuning = found.tuning
    return {
        **_told(found)["study"],
        "seed": tuning.seed,
        "trials": len(found.trials),
        "chosen": [
            {
                "trial": trial.number,
                "params": trial.params,
                **_rule_json(found, found.spec(trial), k),
            }
            for k, trial in enumerate(found.chosen)
        ],
        "default": _rule_json(found, spec_of(tuning.space.base), -1),
        "where": where.told() if where else None,
        "findings": sentences(found, where),
    }


def _rule_json(found: Tuned, spec: str, rule: int) -> dict[str, Any]:
    """Give one rule on all parts; score, low and high."""
    scores = (*LABELS, "precision", "premature")
    shown = found.shown
    return {
        "detector": spec,
        "thresholds": {place: at[rule] for place, at in shown[HELD_OUT].thresholds.items()},
        **{
            part.replace("-", "_"): {s: shown[part].interval(s, rule)._asdict() for s in scores}
            for part in PARTS
        },
    }


def report(found: Tuned, where: Where | None, drawn: Mapping[str, str], command: str) -> str:
    """Lay out the page; `drawn` are the figures as SVG."""
    shown = []
    for part in sections(found, where):
        inlined = [
            (Markup(inline(drawn[name], CAPTIONS[name], drawing.width)), CAPTIONS[name])
            for name, drawing in part.figures.items()
        ]
        shown.append({**part._asdict(), "figures": inlined})
    return page(
        "tune.html.j2",
        folder=TEMPLATES,
        title=f"Tuning {spec_of(found.tuning.space.base)}",
        lead=_lead(found),
        findings=sentences(found, where),
        sections=shown,
        seed=found.tuning.seed,
        command=command,
    )


def _parts(found: Tuned) -> str:
    """Say which places lend runs to which part."""
    names = {part: found.places(part) for part in PARTS}
    if not names[HELD_OUT]:
        return f"All three are different runs of {', '.join(names[TRAIN])}."
    return (
        f"Of {', '.join(names[TRAIN])} there are runs of all three kinds; of "
        f"{', '.join(names[VALIDATION])} none to train on; of {', '.join(names[HELD_OUT])} only "
        "held-out ones."
    )


def _lead(found: Tuned) -> str:
    tuning = found.tuning
    axes = ", ".join(axis.told() for axis in tuning.axes)
    how = "all of them" if tuning.search.points is not None else tuning.search.sampler
    rule = (
        "the rule's own threshold is what is tuned; more false alarms than allowed in any world "
        "count as minus the excess"
        if tuning.own_threshold
        else "thresholds are matched to the rate of false alarms at every place"
    )
    trials = plural(len(found.trials), "trial")
    return f"{trials} ({how}) of {axes}, for {tuning.goal.told()}; {rule}"


def _told(found: Tuned) -> dict[str, Any]:
    tuning = found.tuning
    shown = [
        f"{part}_{w.score}" for w in tuning.goal.wanted for part in ("held_out", VALIDATION, TRAIN)
    ]
    if tuning.goal.single:
        shown += [f"{part}_fpr_healthy" for part in ("held_out", VALIDATION)]
    return {
        "study": {
            "name": f"tune-{spec_of(tuning.space.base)}",
            "question": f"Which settings are best for {tuning.goal.told()}?",
            "detector": spec_of(tuning.space.base),
            "axes": tuning.space.told(),
            "objective": tuning.goal.told(),
            "sampler": tuning.search.sampler,
            "threshold": "natural" if tuning.own_threshold else "matched",
            "places": {part: found.places(part) for part in PARTS},
        },
        "shown": shown,
        "seed": tuning.seed,
        "trials": len(found.trials),
    }


def _cell(shown: Resampled, score: str, rule: int, places: list[str] | None) -> str:
    found = shown.interval(score, rule, places)
    return shares(found) if score != "delay_mean" else f"{found.value:.2f}"


def shares(found: Interval) -> str:
    """Write a share and its interval in percent."""
    low, high = percent(found.low, False), percent(found.high, False)
    return f"{percent(found.value)} ({low} to {high})"


def told(found: Interval) -> str:
    """Write a score with its interval."""
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def signed(found: Interval) -> str:
    """Write a difference with its interval."""
    return f"{found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
