"""Numbers along the axes of a study, as metrics: curves where values are numbers, bars for words.

MLflow draws one chart for each name of a metric, with a line for each run, and sorts charts into
sections by what stands before the slash. So the axes of a study are sections:
``noise/saved_at_sigma_permille`` has one value for each sigma, at step 1000 sigma.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from evalstop.studies.tracking.folder import ResultsFolder

MOST_KEYS = 29  # with more charts nobody finds the one that matters
SECTIONS = {"sigma": "noise", "hacking": "base_rate", "n": "horizon"}
ROC = re.compile(r"tpr_at_fpr_(\d+)$")
ALWAYS = ("auc", "pauc_05")  # summarized wherever they are known
# Steps are whole numbers.
SCALES = ((1, ""), (1000, "_permille"), (1_000_000, "_ppm"))


class Value(NamedTuple):
    """One value of a metric."""

    key: str
    value: float
    step: int = 0


class Sweep(NamedTuple):
    """Scores along a label: curves over its scaled values, or with scale 0 a bar for each value."""

    label: str
    section: str
    unit: str
    scale: int
    scores: list[str]
    others: Sequence[str] = ()  # labels beside it

    def values(self, rows: pd.DataFrame) -> Iterator[Value]:
        """Average over everything but the label."""
        if self.scale and self.others:  # along a curve the mean is over the same places
            places = rows.groupby(list(self.others), dropna=False)
            n_values = places[self.label].transform("nunique")
            rows = rows[n_values == n_values.max()]
        for at, group in rows.groupby(self.label, sort=False):
            for score in self.scores:
                mean = float(group[score].mean())
                if self.scale:
                    key, step = f"{self.section}/{score}_at_{self.unit}", round(self.scale * at)
                    yield Value(key, mean, step)
                else:
                    yield Value(f"{score}/{_word(at)}", mean)


def sweeps(folder: ResultsFolder) -> list[Sweep]:
    """Choose what is drawn: numbers as curves of as many scores as fit, words as bars of one."""
    words = [label for label in folder.words if label != folder.split_by]
    bars = [Sweep(label, "", "", 0, folder.shown[:1]) for label in words]
    n_bars = sum(folder.frame[label].nunique() for label in words)
    n_left = MOST_KEYS - len(summarized(folder)) - bool(roc_columns(folder.frame))
    while bars and n_bars > n_left - len(folder.numeric):
        n_bars -= folder.frame[bars.pop().label].nunique()
    most = (n_left - n_bars) // max(len(folder.numeric), 1)
    fields = [label.rpartition(".")[2] for label in folder.numeric]
    curves = []
    for label, field in zip(folder.numeric, fields, strict=True):
        name = _word(field if fields.count(field) == 1 else label)
        scale, ending = _scale(folder.frame[label])
        section = SECTIONS.get(label, name)
        others = [other for other in folder.varying if other != label]
        curves.append(Sweep(label, section, name + ending, scale, folder.shown[:most], others))
    return [*curves, *bars]


def summarized(folder: ResultsFolder) -> list[str]:
    """Give the scores whose mean over all cells is told."""
    more = [score for score in ALWAYS if score in folder.frame.columns]
    return list(dict.fromkeys([*folder.shown[: MOST_KEYS // 2], *more]))


def roc_columns(frame: pd.DataFrame) -> dict[str, int]:
    """Give the columns that make up the ROC, with their false-positive rates in 1/1000."""
    return {c: int(match[1]) for c in frame.columns if (match := ROC.match(str(c)))}


def _scale(values: "pd.Series[float]") -> tuple[int, str]:
    for scale, ending in SCALES:
        scaled = values * scale
        if ((scaled - scaled.round()).abs() < 1e-6).all():
            return scale, ending
    return SCALES[-1]


def _word(text: object) -> str:
    """Make a part of a metric's name."""
    return re.sub(r"[^\w.\- :]", "_", str(text))
