"""Three rankings of stop rules, frozen: a rule is good if it does well in all of them.

R1 is the paper's world; R2 twelve worlds around Gao's law with *one* threshold for all of them; R3
eighteen cells of other shapes, each with its own threshold. Every threshold is set on healthy runs
of their own, to at most 1.5 % false alarms (in R1 over all jobs that are not hacking, of which only
healthy RLHF runs may be stopped, in R2 in the worst world); an alarm at the last eval does not
count. The rank is by what stops save, on fresh runs; false alarms are counted on fresh runs too.

``python -m evalstop.benchmarks.rankings SPEC...`` prints the table.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalstop.benchmarks.matched import largest_statistics, matched_threshold
from evalstop.benchmarks.population import LabelledRuns
from evalstop.benchmarks.ranking_worlds import GAO_FAMILY, OTHER_SHAPES, PAPER
from evalstop.benchmarks.scores import score
from evalstop.detectors import DETECTORS
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.rules import Detector
from evalstop.detectors.scan import first_alarm, scan
from evalstop.errors import UserError
from evalstop.simulator.worlds.world import World

FPR = 0.015
SEEDS = (10, 11, 12, 13, 14)
# Of the paper's jobs 52 % are not hacking, 32 % are healthy RLHF: only the latter can be stopped.
PAPER_HEALTHY_FPR = FPR * 0.52 / 0.32


@dataclass(frozen=True)
class Ranking:
    """Cells that a rule is judged on; a cell is one world or equal shares of a few.

    Parameters
    ----------
    name, title : str
        What it is called.
    cells : mapping of str to worlds
        The cells; all runs of one have equally many evals.
    fpr : float
        False-alarm budget among healthy runs, in (0, 1).
    one_threshold : bool
        The highest threshold of any cell holds in all of them.
    by : str
        Score that ranks.
    runs : int
        Hacking runs of a cell.
    """

    name: str
    title: str
    cells: Mapping[str, tuple[World, ...]]
    fpr: float = FPR
    one_threshold: bool = False
    by: str = "saved"
    runs: int = 1500


R1 = Ranking("R1", "the paper's world", PAPER, PAPER_HEALTHY_FPR, by="saved_any", runs=8000)
R2 = Ranking("R2", "Gao's family, one threshold", GAO_FAMILY, one_threshold=True)
R3 = Ranking("R3", "other shapes", OTHER_SHAPES)
RANKINGS = (R1, R2, R3)


class Cell(NamedTuple):
    """What a rule did on one cell with one seed; shares, and the threshold that gave them.

    `fpr` is that of healthy runs drawn anew; `score` is what the ranking goes by.
    """

    ranking: str
    cell: str
    seed: int
    threshold: float
    score: float
    recall: float
    fpr: float
    premature: float
    regret: float


def rank(detector: Detector, ranking: Ranking, seed: int, runs: int | None = None) -> list[Cell]:
    """Judge a rule on all cells of a ranking.

    Parameters
    ----------
    seed : int
        Seed of all runs: rules judged with one seed see the same runs.
    runs : int
        Hacking runs of a cell, by default those of the ranking; as many healthy ones are judged,
        and four times as many set the threshold.
    """
    runs = runs or ranking.runs
    judged, thresholds = [], []
    for number, worlds in enumerate(ranking.cells.values()):
        seeds = np.random.SeedSequence([seed, int(ranking.name[1:]), number]).spawn(3)
        healthy, statistics = _scanned(detector, worlds, seeds[0], 4 * runs, hacking=False)
        largest = largest_statistics(statistics, healthy.n_evals, last_counts=False)
        thresholds.append(matched_threshold(largest, ranking.fpr))
        judged.append(
            [
                _scanned(detector, worlds, seeds[1 + hacking], runs, hacking=bool(hacking))
                for hacking in (0, 1)
            ]
        )
    if ranking.one_threshold:
        thresholds = [max(thresholds)] * len(thresholds)
    cells = []
    for cell, threshold, (fresh, hacks) in zip(ranking.cells, thresholds, judged, strict=True):
        fpr = score(fresh[0], _alarms(*fresh, threshold)).fpr_healthy
        told = score(hacks[0], _alarms(*hacks, threshold))
        cells.append(
            Cell(
                ranking.name,
                cell,
                seed,
                threshold,
                getattr(told, ranking.by),
                told.recall,
                fpr,
                told.premature,
                told.regret,
            )
        )
    return cells


def _scanned(
    detector: Detector,
    worlds: tuple[World, ...],
    seeds: np.random.SeedSequence,
    n_runs: int,
    *,
    hacking: bool,
) -> tuple[LabelledRuns, FloatArray]:
    """Draw the runs of a cell, an equal share from each world, and scan them."""
    rng, share = np.random.default_rng(seeds), n_runs // len(worlds)
    parts = [w.draw(rng, np.full(share, "RLHF"), np.full(share, hacking)) for w in worlds]
    population = LabelledRuns.join([LabelledRuns.of_world(p) for p in parts])
    statistics = np.concatenate([scan(detector, p.runs) for p in parts])
    return population, statistics


def _alarms(population: LabelledRuns, statistics: FloatArray, threshold: float) -> IntArray:
    """Give the first alarms; one at the last eval counts as none."""
    alarms = first_alarm(statistics, threshold)
    return np.where(alarms == population.n_evals - 1, -1, alarms)


def mean_by_seed(cells: list[Cell], field: str = "score") -> FloatArray:
    """Give the mean over cells for each seed, in the order of the seeds ``(n_seeds,)``."""
    seeds = sorted({c.seed for c in cells})
    return np.array([np.mean([getattr(c, field) for c in cells if c.seed == s]) for s in seeds])


def mean_and_half(values: FloatArray) -> tuple[float, float]:
    """Give the mean over seeds and half of its 95 % interval (Student's t)."""
    from scipy.stats import t

    n = len(values)
    half = t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return float(values.mean()), float(half)


def main(*specs: str) -> None:
    """Print one line for each rule and ranking."""
    for spec in specs:
        for ranking in RANKINGS:
            detector = DETECTORS.build(spec, allow_path=True)
            cells = [cell for seed in SEEDS for cell in rank(detector, ranking, seed)]
            mean, half = mean_and_half(mean_by_seed(cells))
            others = ("recall", "fpr", "premature", "regret")
            told = " ".join(f"{f} {mean_by_seed(cells, f).mean():.3f}" for f in others)
            by_cell = [np.mean([c.fpr for c in cells if c.cell == name]) for name in ranking.cells]
            print(
                f"{spec} {ranking.name}: {mean:.3f} +- {half:.3f} {told} worst {max(by_cell):.4f}",
                [f"{v:.4f}" for v in mean_by_seed(cells)],
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("specs", nargs="+", metavar="SPEC")
    try:
        main(*parser.parse_args().specs)
    except UserError as told:
        sys.exit(f"error: {told}")
