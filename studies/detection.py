"""Detection studies: detectors on populations of runs of a world, without a cluster.

A cell is one detector at one threshold on `runs` jobs of a world. Matched thresholds come from as
many healthy runs of the same world, drawn apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from evalstop.benchmarks.matched import largest_statistics
from evalstop.benchmarks.outcomes import Outcomes, k_back_of, outcomes
from evalstop.benchmarks.population import LabelledRuns
from evalstop.benchmarks.roc import Roc, area, roc
from evalstop.benchmarks.scores import Scores, score_outcomes
from evalstop.detectors import DETECTORS, first_alarm, scan
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.rules import Detector
from evalstop.detectors.settings import check_settings, setting, spec_of
from evalstop.errors import UserError
from evalstop.simulator.truth import Population
from evalstop.simulator.worlds import build_world
from evalstop.simulator.worlds.world import World
from evalstop.studies.grid import Kind
from evalstop.studies.thresholds import Threshold

# False-positive rates (in 1/1000, among healthy runs) at which the ROC is kept.
PERMILLES = (1, 2, 5, 10, 15, 20, 30, 50, 100, 200, 300, 500)


MOST_RUNS = 10**8  # more would fill any memory


@dataclass(frozen=True)
class Jobs:
    """How many jobs there are, and of which types.

    Parameters
    ----------
    runs : int
        Number of jobs, 1 to 10^8.
    rlhf_share : float
        Share of RLHF jobs, in [0, 1]; the others are LoRA and DPO, which may not be stopped.
    """

    name: ClassVar[str] = "jobs"
    runs: int = setting(2000, low=1, high=MOST_RUNS, doc="number of jobs")
    rlhf_share: float = setting(0.8, low=0, high=1, doc="share of RLHF jobs")

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The runs of one cell and its compared ones; statistics are kept for the next threshold."""

    population: Population
    calibration: Population
    scored: LabelledRuns
    stoppable: float
    _statistics: dict[tuple[str, str], FloatArray] = field(default_factory=dict)

    def statistics(self, detector: Detector) -> FloatArray:
        """Scan the runs."""
        return self._scan(detector, self.population, "runs")

    @property
    def horizon(self) -> int:
        """Evals of the longest run."""
        return int(self.calibration.runs.score.shape[1])

    def largest(self, detector: Detector, *, last: bool) -> FloatArray:
        """Give the largest statistics of the healthy runs that thresholds are calibrated on."""
        statistics = self._scan(detector, self.calibration, "calibration")
        return largest_statistics(statistics, self.calibration.runs.n_evals, last_counts=last)

    def _scan(self, detector: Detector, population: Population, which: str) -> FloatArray:
        key = (spec_of(detector), which)
        if key not in self._statistics:
            self._statistics[key] = scan(detector, population.runs)
        return self._statistics[key]


@dataclass(frozen=True)
class Detection:
    """Jobs of a world, and as many healthy runs to calibrate on."""

    world: World
    jobs: Jobs

    def make(self, seeds: np.random.SeedSequence) -> Drawn:
        """Draw both; those of the calibration have a seed of their own."""
        ours, theirs = (np.random.default_rng(s) for s in seeds.spawn(2))
        n, share, hacking = self.jobs.runs, self.jobs.rlhf_share, self.world.hacking
        dice = ours.random(n)
        rlhf = dice < share
        kinds = np.where(rlhf, "RLHF", np.where(dice < (1 + share) / 2, "LoRA", "DPO"))
        population = self.world.draw(ours, kinds, rlhf & (ours.random(n) < hacking))
        healthy = self.world.draw(theirs, np.full(n, "RLHF"), np.zeros(n, dtype=np.bool_))
        negative = 1 - share * hacking
        stoppable = share * (1 - hacking) / negative if negative else 0.0
        return Drawn(population, healthy, LabelledRuns.of_world(population), stoppable)


def check_both_kinds(world: World) -> None:
    """Raise `UserError` if rules could not be compared on a world: all its runs are of one kind."""
    if not 0 < world.hacking < 1:
        raise UserError(
            f"world {spec_of(world)}: hacking must be more than 0 and less than 1, there must be "
            "runs that should be stopped and runs that should not"
        )


@dataclass(frozen=True)
class Judged:
    """A detector at a threshold."""

    detector: Detector
    threshold: Threshold

    def alarms(self, drawn: Drawn, threshold: float) -> IntArray:
        """Give the first alarm of each run, -1 = none."""
        alarms = first_alarm(drawn.statistics(self.detector), threshold)
        if self.threshold.last:
            return alarms
        return np.where(alarms == drawn.population.runs.n_evals - 1, -1, alarms)

    def outcomes(self, drawn: Drawn, threshold: float) -> Outcomes:
        """Judge its alarms."""
        alarms = self.alarms(drawn, threshold)
        return outcomes(drawn.scored, alarms, k_back_of(self.detector))

    def measure(self, drawn: Drawn) -> Mapping[str, float]:
        """Score its alarms, and its statistic at every other threshold."""
        threshold = self.threshold.value(self.detector, drawn)
        scores = score_outcomes(drawn.scored, self.outcomes(drawn, threshold))
        statistics, n_evals = drawn.statistics(self.detector), drawn.population.runs.n_evals
        largest = largest_statistics(statistics, n_evals, last_counts=self.threshold.last)
        rlhf = drawn.scored.stoppable
        curve = roc(largest[rlhf], drawn.scored.hacking[rlhf])
        return (
            scores._asdict()
            | {"threshold_value": threshold, "auc": area(curve), "pauc_05": area(curve, 0.05)}
            | roc_scores(curve)
        )


ROC_SCORES = tuple(f"tpr_at_fpr_{permille:03d}" for permille in PERMILLES)


def roc_scores(curve: Roc) -> dict[str, float]:
    """Give the ROC at a few false-positive rates, as scores; NaN if there is none."""
    tpr = np.full(len(PERMILLES), np.nan)
    if not curve.degenerate:
        tpr = np.interp(np.array(PERMILLES) / 1000, curve.fpr, curve.tpr)
    return dict(zip(ROC_SCORES, tpr.tolist(), strict=True))


DETECTION = Kind(
    common=lambda study: {
        "world": [build_world(spec) for spec in study.worlds],
        "jobs": [Jobs(runs=study.runs)],
    },
    detector=DETECTORS.build,
    assemble=lambda parts: (
        Detection(parts["world"], parts["jobs"]),
        Judged(parts["detector"], parts["threshold"]),
    ),
    scores=(*Scores._fields, "threshold_value", "auc", "pauc_05", *ROC_SCORES),
    shown=("recall_before_last", "fpr_healthy", "saved", "premature"),
)
