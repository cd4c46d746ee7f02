"""What the paper claims, where our number for it is, and whether the two agree.

arXiv:2606.04145 gives values without intervals, and not how many workloads they are means of. So a
value of the paper agrees with ours when it lies in what 95 % of single workloads of ours give: mean
+- 2 standard deviations over the repetitions of the study.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from evalstop.studies.analysis import with_contender
from evalstop.studies.results import Results
from evalstop.studies.summary import summarize


@dataclass(frozen=True)
class Claim:
    """One number of the paper.

    Parameters
    ----------
    section : str
        Table or figure of the paper that it stands in.
    what : str
        What is claimed, in words.
    paper : str
        The value as the paper has it.
    low, high : float
        Values that the claim allows; equal for a number.
    study, score : str
        Where our number is.
    where : mapping
        Columns and values that pick its rows.
    why : str
        Why it cannot be met, if it cannot.
    """

    section: str
    what: str
    paper: str
    low: float
    high: float
    study: str
    score: str
    where: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Checked:
    """A claim beside what we found: mean, its 95 % interval, spread of one workload, verdict."""

    claim: Claim
    ours: float
    ours_low: float
    ours_high: float
    spread: float
    verdict: str


def check(claim: Claim, results: Results) -> Checked | None:
    """Hold a claim against the results of its study; none if they lack its rows (a first look)."""
    frame = with_contender(results.frame)
    rows = frame[_picks(frame, claim.where)]
    if rows.empty:
        return None
    told = summarize(rows.assign(all=""), ["all"], [claim.score]).iloc[0]
    ours, spread = float(told[claim.score]), float(rows[claim.score].std())
    agrees = claim.low - 2 * spread <= ours <= claim.high + 2 * spread
    verdict = "agrees" if agrees else "cannot be met" if claim.why else "differs"
    low, high = float(told[f"{claim.score}_low"]), float(told[f"{claim.score}_high"])
    return Checked(claim, ours, low, high, spread, verdict)


def _picks(frame: pd.DataFrame, where: Mapping[str, Any]) -> "pd.Series[bool]":
    picked = pd.Series(True, index=frame.index)
    for column, value in where.items():
        known = frame[column]
        same = np.isclose(known, value) if isinstance(value, float) else known == value
        picked &= same
    return picked


_K2 = {"contender": "k-decline @ natural"}
_STOP_AT = {"contender": "stop-at @ natural"}
_LOSS = {"contender": "loss-plateau @ natural"}
_TIMED = (
    "every hacking and healthy run is cut by 35 %, so its JCT must fall far more than EvalStop's; "
    "it becomes a loss when wrongly stopped jobs are submitted again, see there"
)


def _number(  # noqa: PLR0913, PLR0917 - the columns of a table
    section: str, what: str, value: float, study: str, score: str, where: Mapping[str, Any]
) -> Claim:
    return Claim(section, what, f"{value:.3f}", value, value, study, score, where)


_MAIN = "Main table, SRTF-Est"
CLAIMS: Sequence[Claim] = (
    _number(_MAIN, "EvalStop precision", 0.983, "main", "precision", _K2),
    _number(_MAIN, "EvalStop recall", 0.993, "main", "recall", _K2),
    _number(_MAIN, "EvalStop FPR (all jobs not hacking)", 0.015, "main", "fpr_all", _K2),
    _number(_MAIN, "EvalStop waste cut", 0.218, "main", "waste_cut", _K2),
    _number(_MAIN, "EvalStop JCT gain", 0.094, "main", "jct_gain", _K2),
    _number(_MAIN, "StopAt-0.65 precision", 0.571, "main", "precision", _STOP_AT),
    _number(_MAIN, "StopAt-0.65 FPR", 0.645, "main", "fpr_all", _STOP_AT),
    Claim(
        _MAIN,
        "StopAt-0.65 JCT gain",
        '"similar" to EvalStop',
        0.08,
        0.11,
        "main",
        "jct_gain",
        _STOP_AT,
        why=_TIMED,
    ),
    _number(_MAIN, "LossPlateau precision", 0.570, "main", "precision", _LOSS),
    _number(_MAIN, "LossPlateau recall", 0.383, "main", "recall", _LOSS),
    *(
        Claim(
            "Composability",
            f"JCT gain on {name}",
            "within .089-.252",
            0.089,
            0.252,
            "composability",
            "jct_gain",
            {"scheduler": spec},
        )
        for name, spec in (
            ("FIFO", "fifo-skip"),
            ("SJF-Est", "sjf-est-skip"),
            ("SRTF-Est", "srtf-est"),
            ("LossAware", "loss-aware:rate=given"),
        )
    ),
    *(
        Claim(
            "Noise",
            f"precision at sigma {sigma:g}",
            paper,
            low,
            high,
            "noise",
            "precision",
            {**_K2, "sigma": sigma},
        )
        for sigma, paper, low, high in (
            (0.01, "1.000", 1.0, 1.0),
            (0.05, "at least .91", 0.91, 1.0),
            (0.12, ".81", 0.81, 0.81),
        )
    ),
    *(
        Claim(
            "Hacking share",
            f"precision at {share:.0%} hacking",
            "at least .89",
            0.89,
            1.0,
            "base-rate",
            "precision",
            {**_K2, "hacking": share},
        )
        for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    ),
)
