"""From the numbers of the leaderboard to who stands where: means, intervals, tests, ranks."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalstop.benchmarks.paired import (
    Ranks,
    holm,
    mean_interval,
    paired_difference,
    rank_over_blocks,
)
from evalstop.detectors.settings import parse_spec
from evalstop.studies.leaderboard.boards import RANKED, Board
from evalstop.studies.leaderboard.contest import SCORES
from evalstop.studies.leaderboard.run import REFERENCE_NAMES, Leaderboard

SHARES = SCORES[:-1]  # thresholds of different worlds have no mean
CONTEST = ["board", "threshold", "fpr"]


class Contest(NamedTuple):
    """One table of the leaderboard: rules on a board, at one kind of threshold and one budget."""

    board: Board
    threshold: str
    fpr: float
    rows: pd.DataFrame


def contests(leaderboard: Leaderboard) -> Iterator[Contest]:
    """Give all tables, in the order of the boards."""
    boards = {board.name: board for board in leaderboard.entries.boards}
    for (board, threshold, fpr), rows in leaderboard.frame.groupby(CONTEST, sort=False):
        yield Contest(boards[board], threshold, fpr, rows)


def scores_by_seed(rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """Give the mean over worlds for each rule (row) and repetition (column)."""
    told = rows.groupby(["detector", "repeat"], sort=False)[score].mean()
    return told.unstack("repeat").sort_index(axis=1)


def standings(leaderboard: Leaderboard) -> pd.DataFrame:
    """Rank the rules of every table; the score that ranks is the column ``by``.

    Returns
    -------
    DataFrame
        For each rule of each table the mean of each score over worlds and repetitions with the
        ends of its interval over repetitions, ``fpr_worst`` (of the world with most false alarms),
        ``us_per_eval`` (measured), and its ``rank`` (NaN for reference lines).
    """
    parts = []
    for board, threshold, fpr, rows in contests(leaderboard):
        told = pd.DataFrame({"detector": rows["detector"].unique()})
        told.insert(0, "board", board.name)
        told.insert(1, "threshold", threshold)
        told.insert(2, "fpr", fpr)
        told["by"] = board.by
        for score in SHARES:
            seeds = scores_by_seed(rows, score).reindex(told["detector"]).to_numpy()
            ends = np.array([mean_interval(row) for row in seeds])
            for end, values in zip(("", "_low", "_high"), ends.T, strict=True):
                told[score + end] = values
        worlds = rows.groupby(["detector", "world"])["fpr_healthy"].mean()
        told["fpr_worst"] = told["detector"].map(worlds.groupby("detector").max())
        told["us_per_eval"] = told["detector"].map(leaderboard.cost)
        told["reference"] = told["detector"].isin(REFERENCE_NAMES)
        ranked = told[board.by].where(~told["reference"])
        told["rank"] = ranked.rank(ascending=False, method="min")
        parts.append(told.sort_values(board.by, ascending=False, kind="stable"))
    return pd.concat(parts, ignore_index=True)


def by_world(leaderboard: Leaderboard) -> pd.DataFrame:
    """Give the same for each world: the mean of each score over repetitions with its interval."""
    keys = ["board", "world", "threshold", "fpr", "detector"]
    groups = leaderboard.frame.groupby(keys, sort=False)
    told = groups[list(SHARES)].mean()
    columns: dict[str, pd.Series[float]] = {}
    for score in SHARES:
        ends = groups[score].agg(lambda values: mean_interval(values.to_numpy())[2])
        columns |= {
            score: told[score],
            f"{score}_low": 2 * told[score] - ends,
            f"{score}_high": ends,
        }
    return pd.DataFrame(columns).reset_index()


def is_single(rule: str) -> bool:
    """Tell whether a rule is one simple rule, not learned from examples."""
    return parse_spec(rule)[0] != "learned"


def paired_tests(leaderboard: Leaderboard) -> pd.DataFrame:
    """Test every rule against the best single rule of its table, on the same runs.

    Returns
    -------
    DataFrame
        One row for each rule but the best single one: ``difference`` of the score that ranks (its
        mean over worlds) with its interval over repetitions, ``p`` of a paired t-test,
        ``p_holm`` adjusted for all rules of the table.
    """
    parts = []
    for board, threshold, fpr, rows in contests(leaderboard):
        seeds = scores_by_seed(rows, board.by).drop(index=list(REFERENCE_NAMES))
        singles = seeds[[is_single(rule) for rule in seeds.index]]
        if singles.empty or len(seeds) < 2:
            continue
        best = str(singles.mean(axis=1).idxmax())
        rules = [rule for rule in seeds.index if rule != best]
        told = [
            paired_difference(seeds.loc[r].to_numpy(), seeds.loc[best].to_numpy()) for r in rules
        ]
        table = pd.DataFrame(
            {
                "board": board.name,
                "threshold": threshold,
                "fpr": fpr,
                "detector": rules,
                "best_single": best,
                "score": board.by,
                "difference": [d.mean for d in told],
                "difference_low": [d.low for d in told],
                "difference_high": [d.high for d in told],
                "p": [d.p for d in told],
            }
        )
        table["p_holm"] = holm(table["p"].to_numpy())
        parts.append(table.sort_values("difference", ascending=False, kind="stable"))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def ranks_over_worlds(
    leaderboard: Leaderboard, threshold: str, fpr: float
) -> tuple[list[str], Ranks, int] | None:
    """Rank the rules in every world (by what they save, its mean over horizons and repetitions).

    Returns
    -------
    (list of str, Ranks, int)
        The rules, their ranks and the number of worlds; ``None`` with fewer than 3 or 2 of them.
    """
    frame = leaderboard.frame
    rows = frame[
        (frame["threshold"] == threshold)
        & (frame["fpr"] == fpr)
        & ~frame["board"].isin(RANKED)
        & ~frame["detector"].isin(REFERENCE_NAMES)
    ]
    means = rows.groupby(["world", "detector"], sort=False)["saved"].mean().unstack("detector")
    means = means.dropna()
    if means.shape[0] < 2 or means.shape[1] < 3:
        return None
    return list(means.columns), rank_over_blocks(means.to_numpy()), len(means)


def pareto(scores: pd.DataFrame) -> list[str]:
    """Give the rows that no other row equals or beats in every column and beats in one."""
    values = scores.to_numpy()
    beaten = [
        bool(((values >= row).all(axis=1) & (values > row).any(axis=1)).any()) for row in values
    ]
    return [
        str(name) for name, is_beaten in zip(scores.index, beaten, strict=True) if not is_beaten
    ]
