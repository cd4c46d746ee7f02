"""What a tracked run shows: its name, settings, numbers along axes, and a note that explains it.

A top-level run is one contender, so that its line stands beside those of the others in every chart.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from evalstop.detectors.settings import parse_spec, settings_of, write
from evalstop.errors import UserError
from evalstop.studies.tracking.folder import ResultsFolder
from evalstop.studies.tracking.sweeps import Sweep, Value, roc_columns, summarized, sweeps

MOST_DRAWN, MOST_LISTED = 10, 20
LOWER_IS_BETTER = (
    *("fpr", "premature", "last_only", "regret", "delay"),
    *("wrongly_stopped", "resubmitted", "destroyed", "overhead", "jct_hours", "jct_base"),
)


@dataclass(frozen=True)
class Card:
    """A run as it is shown.

    Parameters
    ----------
    key : str
        What it is found by when results are sent again: a contender, or the id of a point's first
        cell.
    name, note : str
        What it is called, and what it is, in sentences.
    params, tags : mapping of str to str
        Settings of the detector and its place on the grid; what it was made with.
    values : list of Value
        Its numbers; those that are not finite are left out.
    """

    key: str
    name: str
    note: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    values: list[Value]


def top_cards(folder: ResultsFolder) -> list[Card]:
    """Give the cards of the top-level runs, one for each contender.

    They are in the order of the study; if they are so many that MLflow draws only the first ones,
    the best come first.
    """
    drawn = sweeps(folder)
    cards = [_top_card(folder, str(key), rows, drawn) for key, rows in _groups(folder)]
    if len(cards) > MOST_DRAWN:
        metric, lower = best_first(folder)
        sign = 1 if lower else -1
        means = {c.key: v.value for c in cards for v in c.values if v.key == metric}
        cards.sort(key=lambda card: sign * means.get(card.key, sign * math.inf))
    return cards


def point_cards(folder: ResultsFolder) -> Iterator[tuple[str, Card]]:
    """Give the cards of the points of the grid, each with the key of its top-level run.

    A point is all repetitions of a contender at one place; a top-level run of a single point is
    that point.
    """
    # A point that an axis does not concern stands at many places, and has none of its own.
    places = folder.frame.groupby("cell", sort=False)[folder.varying].nunique()
    seen: set[str] = set()
    for key, rows in _groups(folder):
        points = [repeats for _, repeats in rows.groupby("point", sort=False)]
        for repeats in points if len(points) > 1 else ():
            first = repeats.iloc[0]
            cell = str(first["cell"])
            if cell in seen:
                continue
            seen.add(cell)
            at = {v: _text(first[v]) for v in folder.varying if places.at[cell, v] == 1}
            where = ", ".join(f"{label}={value}" for label, value in at.items())
            n = len(repeats)
            over = f"mean over {n} repetitions" if n > 1 else "one repetition"
            yield (
                str(key),
                Card(
                    key=cell,
                    name=where or str(key),
                    note=f"{key}: {over}{', ' if where else ''}{where}.",
                    params={**at, "repetitions": str(n)},
                    tags={},
                    values=_summary(folder, repeats[summarized(folder)].mean()),
                ),
            )


def best_first(folder: ResultsFolder) -> tuple[str, bool]:
    """Give the metric that ranks top-level runs, and whether lower is better."""
    first = folder.shown[0]
    return f"summary/{first}", first.startswith(LOWER_IS_BETTER)


def _groups(folder: ResultsFolder) -> Iterator[tuple[Any, pd.DataFrame]]:
    yield from folder.frame.groupby(folder.split_by, sort=False)


def _top_card(folder: ResultsFolder, key: str, rows: pd.DataFrame, drawn: list[Sweep]) -> Card:
    values = _summary(folder, rows[summarized(folder)].mean())
    for column, permille in roc_columns(rows).items():
        values.append(Value("roc/tpr_at_fpr_permille", float(rows[column].mean()), permille))
    values += (value for sweep in drawn for value in sweep.values(rows))
    said = [f"{key} in the study {folder.name}: {folder.study.get('question', '')}".strip(": ")]
    n_cells, n_points = rows["cell"].nunique(), rows["point"].nunique()
    if n_cells > 1:
        below = f" at {n_points} points, which are its child runs" if n_points > 1 else ""
        said.append(f"Means over {n_cells} cells{below}.")
    if any(v.key.startswith("roc/") for v in values):
        said.append("roc: hacking runs that are stopped, at 1000 x the false-positive rate.")
    for sweep in (s for s in drawn if s.scale):
        times = f"{sweep.scale} x " if sweep.scale > 1 else ""
        said.append(f"{sweep.section}: the step is {times}{sweep.label}.")
    return Card(
        key=key,
        name=key,
        note="\n\n".join(said),
        params=_params(folder, rows),
        tags=_tags(folder, rows),
        values=[v._replace(value=_short(v.value)) for v in values if math.isfinite(v.value)],
    )


def _summary(folder: ResultsFolder, scores: Mapping[Any, Any]) -> list[Value]:
    told = ((score, float(scores[score])) for score in summarized(folder))
    return [Value(f"summary/{score}", value) for score, value in told if math.isfinite(value)]


def _params(folder: ResultsFolder, rows: pd.DataFrame) -> dict[str, str]:
    """Give the detector's fields and the values of the axes; a field that is an axis varies."""
    params = {label: _listed(rows[label]) for label in ("detector", "threshold")}
    specs = rows["detector"].unique()
    if len(specs) == 1:
        params |= {field: write(value) for field, value in _fields(str(specs[0])).items()}
    for label in folder.varying:
        params.pop(label.rpartition(".")[2], None)
        params[label] = _listed(rows[label])
    return params


def _fields(spec: str) -> Mapping[str, Any]:
    """Give all settings of a rule, or those that its spec names if it is not ours."""
    from evalstop.simulator.stoppers import STOPPERS

    try:
        return settings_of(STOPPERS.build(spec))
    except UserError:
        return parse_spec(spec)[1]


def _tags(folder: ResultsFolder, rows: pd.DataFrame) -> dict[str, str]:
    told = folder.told
    fixed = {label: _listed(rows[label]) for label in folder.labels if label not in folder.varying}
    fixed = {label: value for label, value in fixed.items() if value != label}  # nothing was set
    made_with = {"seed": told["seed"], "schema": told.get("schema"), "commit": told.get("commit")}
    tags = {"study": folder.name} | fixed | made_with | dict(told.get("versions", {}))
    return {name: str(value) for name, value in tags.items() if value not in (None, "")}


def _listed(column: "pd.Series[Any]") -> str:
    texts = [_text(value) for value in column.dropna().unique()]
    if len(texts) > MOST_LISTED:
        return f"{', '.join(texts[:3])} ... {texts[-1]} ({len(texts)} values)"
    return ", ".join(texts)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _short(value: float) -> float:
    """Keep six digits: what a table of MLflow has room for."""
    return float(f"{value:.6g}")
