"""What a search is for: one score at a rate of false alarms, or several against each other."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evalstop.detectors.settings import nearest
from evalstop.errors import UserError

DEFAULT_FPR = 0.015
MULTI = "saved,fpr,delay"


class Wanted(NamedTuple):
    """A score by the name that it has in `evalstop.benchmarks.scores`, and which way is better."""

    score: str
    higher: bool


WANTED = {
    "saved": Wanted("saved", True),
    "recall": Wanted("recall", True),
    "fpr": Wanted("fpr_healthy", False),
    "delay": Wanted("delay_mean", False),
}
# Of a rule with a threshold of its own: it has to keep its promise in every world.
WORST_FPR = "fpr_worst"


@dataclass(frozen=True)
class Goal:
    """What is wanted.

    Parameters
    ----------
    names : tuple of str
        Keys of `WANTED`: one of ``saved`` and ``recall``, or several scores against each other.
    fpr : float
        The false alarms that are allowed where one score is wanted, per healthy run, in (0, 1).
    """

    names: tuple[str, ...] = ("saved",)
    fpr: float = DEFAULT_FPR

    @property
    def single(self) -> bool:
        """Whether one score is wanted."""
        return len(self.names) == 1

    @property
    def wanted(self) -> list[Wanted]:
        """The scores."""
        return [WANTED[name] for name in self.names]

    def told(self) -> str:
        """Write it as the command line reads it."""
        return f"{self.names[0]}@fpr={self.fpr:g}" if self.single else ",".join(self.names)

    def values(self, scores: Mapping[str, float], *, own_threshold: bool) -> list[float]:
        """Give what the search is told of a trial.

        A rule whose threshold is matched to the rate keeps it anyway. One with a threshold of its
        own that stops more than allowed somewhere is worth less than one that does not: minus the
        excess. A delay that nothing was left to measure is the longest.
        """
        if self.single and own_threshold and not scores[WORST_FPR] <= self.fpr:
            return [self.fpr - scores[WORST_FPR]]
        told = [scores[w.score] for w in self.wanted]
        worst = (0.0 if w.higher else scores["horizon"] for w in self.wanted)
        return [w if math.isnan(t) else t for t, w in zip(told, worst, strict=True)]


def read_goal(text: str) -> Goal:
    """Read ``saved@fpr=.015``, ``recall``, ``multi`` or ``recall,fpr,delay``.

    Raises
    ------
    UserError
        If it is none of these.
    """
    names, _, rate = (MULTI if text == "multi" else text).partition("@")
    wanted = tuple(name.strip() for name in names.split(","))
    for name in wanted:
        if name not in WANTED:
            raise UserError(f"objective: there is no score {name!r}, {nearest(name, WANTED)}")
    if len(wanted) == 1:
        if wanted[0] not in ("saved", "recall"):
            raise UserError(f"objective: {text} alone is best for a rule that never stops a run, "
                            "say saved@fpr=.015 or saved,fpr")  # fmt: skip
        return Goal(wanted, _rate(text, rate) if rate else DEFAULT_FPR)
    if rate or len(set(wanted)) < len(wanted) or not {"saved", "recall"} & set(wanted):
        raise UserError(
            f"objective: {text!r} must be saved@fpr=.015, recall@fpr=.05, multi, or a comma list "
            "of saved or recall with fpr and delay"
        )
    return Goal(wanted)


def _rate(text: str, told: str) -> float:
    name, _, value = told.partition("=")
    try:
        rate = float(value)
    except ValueError:
        rate = math.nan
    if name.strip() != "fpr" or not 0 < rate < 1:
        raise UserError(f"objective: {text!r} needs a rate between 0 and 1, like saved@fpr=.015")
    return rate
