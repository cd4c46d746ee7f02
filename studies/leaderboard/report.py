"""What the leaderboard says and leaves in its folder: sentences, tables, figures and a page."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from evalstop.benchmarks.pages import page, percent
from evalstop.benchmarks.plots import Drawing, inline
from evalstop.benchmarks.posterior import OraclePosterior
from evalstop.detectors.storage import write_atomically
from evalstop.detectors.words import plural
from evalstop.detectors.zoo.always import Always
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.never import Never
from evalstop.studies.analysis import Table
from evalstop.studies.leaderboard.boards import ONE, OWN, RANKED, Board
from evalstop.studies.leaderboard.figures import WORDS, critical_difference, saved_dots, world_map
from evalstop.studies.leaderboard.run import REFERENCE_NAMES, Leaderboard
from evalstop.studies.leaderboard.standings import (
    by_world,
    paired_tests,
    pareto,
    ranks_over_worlds,
    standings,
)
from evalstop.studies.report import TEMPLATES

SHOWN_FPR = 0.015
POSTERIOR, K2 = OraclePosterior.name, KDecline.name
COLUMNS = {
    "rule": "The detector, with the settings that differ from its defaults.",
    "saved": "Of the GPU-time after the peaks of hacking runs, the share given back; a premature "
    "stop gives none.",
    "recall": "Of the hacking runs, the share stopped before their last eval.",
    "premature": "Of the hacking runs, the share stopped before their peak.",
    "regret": "What the kept checkpoint lacks to the run's best, as a share of the run's range.",
    "delay": "Evals from the first at or after the peak to the stop; a run never stopped counts to "
    "its end (restricted mean).",
    "FPR": "Of fresh healthy runs, the share stopped.",
    "worst": "The same, in the world where it is highest.",
    "us": "Microseconds of one core for one eval of one run: measured on the machine that made "
    "this page, while it may have had other work.",
    "against": "What is saved more than by the best single rule of the table, with p of a paired "
    "t-test over repetitions, adjusted for all rules (Holm).",
}


@dataclass(frozen=True, eq=False)
class Report:
    """All that is said of a leaderboard.

    Parameters
    ----------
    leaderboard : Leaderboard
        The numbers.
    """

    leaderboard: Leaderboard

    @cached_property
    def standings(self) -> pd.DataFrame:
        """The table of every board, kind of threshold and budget."""
        return standings(self.leaderboard)

    @cached_property
    def tests(self) -> pd.DataFrame:
        """Every rule against the best single one of its table."""
        return paired_tests(self.leaderboard)

    @property
    def boards(self) -> Sequence[Board]:
        """Those of one horizon."""
        return [b for b in self.leaderboard.entries.boards if b.name not in RANKED]

    @property
    def rankings(self) -> Sequence[Board]:
        """R1, R2 and R3, as far as they were asked for."""
        return [b for b in self.leaderboard.entries.boards if b.name in RANKED]

    def shown_fpr(self, board: Board) -> float:
        """Give the budget that is looked at first."""
        return SHOWN_FPR if SHOWN_FPR in board.fprs else board.fprs[0]

    def table(self, board: Board, threshold: str, fpr: float) -> pd.DataFrame:
        """Give the standings of one table, the best first, with their tests."""
        rows = _where(self.standings, board.name, threshold, fpr)
        if self.tests.empty:
            return rows.assign(difference=float("nan"), p_holm=float("nan"), best_single="")
        tests = _where(self.tests, board.name, threshold, fpr)
        columns = ["detector", "difference", "p_holm", "best_single"]
        return rows.merge(tests[columns], on="detector", how="left")

    def ranked(self) -> pd.DataFrame:
        """Give the standings in the rankings, a row for each rule: ``R1``, ``R1_low`` ..."""
        columns = {}
        for board in self.rankings:
            told = self.table(board, board.thresholds[0], board.fprs[0]).set_index("detector")
            for end in ("", "_low", "_high"):
                columns[board.name + end] = told[board.by + end]
            columns[f"{board.name}_p"] = told["p_holm"]
            columns[f"{board.name}_gain"] = told["difference"]
        frame = pd.DataFrame(columns)
        frame["reference"] = told["reference"]
        mean = frame[[board.name for board in self.rankings]].mean(axis=1)
        mean[[Never.name, Always.name]] = -1  # no rules to aim at: the least last
        return frame.assign(mean=mean).sort_values("mean", ascending=False, kind="stable")

    def findings(self) -> list[str]:
        """Say in a few sentences who leads, by how much, and what is out of reach."""
        said = [
            self._leader(board, threshold, self.shown_fpr(board))
            for board in self.boards
            for threshold in board.thresholds
        ]
        if self.rankings:
            said += self._over_rankings()
        return said

    def _leader(self, board: Board, threshold: str, fpr: float) -> str:
        table = self.table(board, threshold, fpr)
        told, by = table.set_index("detector"), board.by
        rules = table[~table["reference"]]
        first = rules.iloc[0]
        text = (
            f"{board.title}, {WORDS[threshold]}, {percent(fpr)} false alarms: "
            f"{first['detector']} saves most, {_interval(first, by)}"
        )
        if not pd.isna(first["difference"]):
            text += (
                f", {first['difference']:+.3f} to the best single rule, {first['best_single']} "
                f"(p {first['p_holm']:.2g})"
            )
        text += f"; who knows the world saves {told.loc[POSTERIOR, by]:.3f} ({POSTERIOR})"
        return text + (f", k=2 {told.loc[K2, by]:.3f}" if K2 in told.index else "")

    def _over_rankings(self) -> list[str]:
        ranked = self.ranked()
        names = [board.name for board in self.rankings]
        rules = ranked[~ranked["reference"]]
        winners = {name: rules[name].idxmax() for name in names}
        each = "; ".join(
            f"{rule} in {name} ({rules.loc[rule, name]:.3f}{self._lead(rules.loc[rule], name)})"
            for name, rule in winners.items()
        )
        if len(set(winners.values())) == 1:
            return [f"one rule saves most in {_listed(names)}: {each}"]
        front = [
            f"{rule} ({', '.join(f'{rules.loc[rule, name]:.3f}' for name in names)})"
            for rule in pareto(rules[names])
        ]
        return [
            f"no rule saves most in {_listed(names)}: {each}",
            f"on the Pareto front of {_listed(names)}: {'; '.join(front)}",
        ]

    def _lead(self, row: "pd.Series[float]", name: str) -> str:
        """Say how much more than the best single rule, and how sure that is."""
        gain, p = row[f"{name}_gain"], row[f"{name}_p"]
        return "" if pd.isna(gain) else f", {gain:+.3f} to the best single rule, p {p:.2g}"

    def console_tables(self) -> list[Table]:
        """Give a table for each board, and one for the rankings, to print."""
        made = []
        for board in self.boards:
            fpr = self.shown_fpr(board)
            kinds = {k: self.table(board, k, fpr).set_index("detector") for k in board.thresholds}
            order = next(iter(kinds.values())).index
            columns = ["rule"]
            for kind in kinds:
                columns += [f"saved, {kind}", "recall", "premature", "FPR", "worst"]
            rows = []
            for rule in order:
                row = [str(rule)]
                for told in kinds.values():
                    r = told.loc[rule]
                    row += [_half(r, board.by), *(f"{r[s]:.3f}" for s in _SHORT)]
                rows.append([*row, f"{self.leaderboard.cost[rule]:.2g}"])
            title = (
                f"{board.title}, {plural(len(board.fields), 'world')}, {percent(fpr)} false alarms"
            )
            made.append(Table(title, [*columns, "us (measured)"], rows))
        if self.rankings:
            ranked = self.ranked()
            names = [board.name for board in self.rankings]
            rows = [[str(rule), *(_half(row, n) for n in names)] for rule, row in ranked.iterrows()]
            titles = "; ".join(board.title for board in self.rankings)
            made.append(Table(titles, ["rule", *names], rows))
        return made

    @cached_property
    def figures(self) -> dict[str, Drawing]:
        """All figures, by file name."""
        drawn, worlds = {}, by_world(self.leaderboard)
        for board in self.leaderboard.entries.boards:
            fpr = self.shown_fpr(board)
            rows = self.standings[
                (self.standings["board"] == board.name) & (self.standings["fpr"] == fpr)
            ]
            name = board.name.replace("=", "")
            drawn[f"saved-{name}"] = saved_dots(rows, POSTERIOR)
            for threshold in board.thresholds if len(board.fields) > 1 else ():
                told = _where(worlds, board.name, threshold, fpr)
                table = told.pivot(index="detector", columns="world", values=board.by)
                order = self.table(board, threshold, fpr)["detector"]
                order = [rule for rule in order if rule not in ("always", "never")]
                labels = [field.label for field in board.fields]
                drawn[f"worlds-{name}-{threshold}"] = world_map(
                    table.loc[order, labels], REFERENCE_NAMES
                )
        for threshold in (OWN, ONE):
            fprs = {self.shown_fpr(board) for board in self.boards}
            found = ranks_over_worlds(self.leaderboard, threshold, min(fprs)) if fprs else None
            if found:
                drawn[f"critical-difference-{threshold}"] = critical_difference(*found)
        return drawn

    @cached_property
    def svgs(self) -> dict[str, str]:
        """All figures, drawn."""
        return {name: drawing.svg(name) for name, drawing in self.figures.items()}

    def save(self, out: Path, command: str = "") -> list[Path]:
        """Write the tables, the figures and the page; give their paths."""
        tables = {
            "leaderboard": self.standings,
            "worlds": by_world(self.leaderboard),
            "paired_tests": self.tests,
        }
        files: dict[str, str | bytes] = {
            "report.html": self.html(command),
            "findings.txt": "".join(f"{said}\n" for said in self.findings()),
        }
        for name, table in tables.items():
            files[f"{name}.csv"] = table.to_csv(index=False)
            files[f"{name}.parquet"] = _parquet(table)
        files["scores.parquet"] = _parquet(self.leaderboard.frame)
        files |= {f"{name}.svg": text for name, text in self.svgs.items()}
        for name, content in files.items():
            write_atomically(out / name, content)
        return [out / name for name in files]

    def html(self, command: str = "") -> str:
        """Lay out the page: text, tables and inline figures, nothing from outside."""
        drawn = {
            name: Markup(inline(text, name, self.figures[name].width))
            for name, text in self.svgs.items()
        }
        return page(
            "leaderboard.html.j2",
            folder=TEMPLATES,
            title="Which stop rule saves most?",
            report=self,
            findings=self.findings(),
            columns=COLUMNS,
            words=WORDS,
            drawn=drawn,
            ranked=self.ranked() if self.rankings else None,
            entries=self.leaderboard.entries,
            seed=self.leaderboard.seed,
            command=command,
        )


_SHORT = ("recall_before_last", "premature", "fpr_healthy", "fpr_worst")


def _parquet(table: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    table.to_parquet(file, index=False, engine="pyarrow")
    return file.getvalue()


def _where(frame: pd.DataFrame, board: str, threshold: str, fpr: float) -> pd.DataFrame:
    rows = (frame["board"] == board) & (frame["threshold"] == threshold) & (frame["fpr"] == fpr)
    return frame[rows]


def _interval(row: "pd.Series[float]", score: str) -> str:
    return f"{row[score]:.3f} [{row[f'{score}_low']:.3f}, {row[f'{score}_high']:.3f}]"


def _half(row: "pd.Series[float]", score: str) -> str:
    return f"{row[score]:.3f} ±{(row[f'{score}_high'] - row[score]):.3f}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
