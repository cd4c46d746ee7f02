"""A stop rule on a cluster: what it finds, whom it stops wrongly, what it is worth to others."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evalstop.benchmarks.outcomes import k_back_of
from evalstop.benchmarks.population import LabelledRuns
from evalstop.benchmarks.scores import Scores, score
from evalstop.detectors.calibration.order import largest_statistics, matched_threshold
from evalstop.detectors.rules import Detector
from evalstop.detectors.scan import scan
from evalstop.simulator.evalstop import EvalStop, first_evals
from evalstop.simulator.presets import Scenario
from evalstop.simulator.pricing import HOUR, Bill, Gain, gain, settle
from evalstop.simulator.run import Run
from evalstop.simulator.worlds.world import KINDS, World

CALIBRATION_RUNS = 20_000


class Priced(NamedTuple):
    """A rule on one cluster run.

    Parameters
    ----------
    scores : Scores
        Of its alarms, weighed by the GPU-time of the jobs; a timed stop is scored at the first eval
        at or after it.
    bill : Bill
        Where the GPU-time went.
    gain : Gain
        Against the same jobs with no rule.
    """

    scores: Scores
    bill: Bill
    gain: Gain


def price(rule: EvalStop, scenario: Scenario, base: Run, run: Run) -> Priced:
    """Judge a run with a rule.

    Parameters
    ----------
    rule : EvalStop
    scenario : Scenario
        The jobs of both runs.
    base, run : Run
        Without and with the rule.
    """
    alarms = first_evals(rule.stopper, scenario.population, rule.threshold)
    judged = labelled(scenario, rule.stop_types or KINDS)
    scores = score(judged, alarms, k_back_of(rule.stopper))
    truth = scenario.population.truth
    return Priced(scores, settle(run, truth), gain(base, run, truth))


def labelled(scenario: Scenario, stop_types: Sequence[str] = ("RLHF",)) -> LabelledRuns:
    """Give the runs behind jobs as they are scored, weighed by the GPU-time of their jobs."""
    jobs, truths = scenario.workload.jobs, scenario.workload.truths
    hours = [j.gpus * t.duration / HOUR for j, t in zip(jobs, truths, strict=True)]
    return LabelledRuns.of_world(
        scenario.population, np.array(hours, dtype=float), tuple(stop_types)
    )


def threshold_for(
    detector: Detector, world: World, fpr: float, seed: int, n_runs: int = CALIBRATION_RUNS
) -> float:
    """Set a threshold on healthy RLHF runs of a world, drawn apart from those that are judged.

    Parameters
    ----------
    fpr : float
        Probability of an alarm at any eval, the last included, for a healthy run; in (0, 1).
    seed : int
        Of a run whose threshold this is: the healthy runs have random numbers of their own.
    n_runs : int
        How many of them.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(n_runs,)))
    healthy = world.draw(rng, np.full(n_runs, "RLHF"), np.zeros(n_runs, dtype=np.bool_)).runs
    return matched_threshold(largest_statistics(scan(detector, healthy), healthy.n_evals), fpr)
