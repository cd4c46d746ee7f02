"""Jobs and the runs behind them: what a stopper is priced on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.errors import UserError
from evalstop.simulator.job import Job, Truth, Workload
from evalstop.simulator.truth import BoolArray, Population, StrArray
from evalstop.simulator.worlds.world import World

# Of a random seed, in this order: what is drawn for the jobs, their labels and their curves.
STREAMS = 3


@dataclass(frozen=True, eq=False)
class Scenario:
    """A workload and the run behind each of its jobs, in the same order.

    Parameters
    ----------
    workload : Workload
        Jobs with their types, eval schedules and truths.
    population : Population
        One run for each job.
    """

    workload: Workload
    population: Population


def streams(seed: int) -> list[np.random.Generator]:
    """Give independent generators for the jobs, the labels and the curves of one seed.

    So a change of world or of label shares leaves the jobs as they are, and compared runs differ in
    nothing else.
    """
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(STREAMS)]


def draw_kinds(dice: FloatArray, rlhf_share: float) -> StrArray:
    """Turn numbers uniform in [0, 1) into job types; what is not RLHF is half LoRA, half DPO."""
    bounds = np.array([rlhf_share, (1 + rlhf_share) / 2])
    kinds: StrArray = np.array(["RLHF", "LoRA", "DPO"])[np.searchsorted(bounds, dice, side="right")]
    return kinds


def draw_hacking(dice: FloatArray, kinds: StrArray, share: float) -> BoolArray:
    """Turn numbers uniform in [0, 1) into labels: a share of the RLHF jobs is hacking."""
    hacking: BoolArray = (kinds == "RLHF") & (dice < share)
    return hacking


def overlay(workload: Workload, world: World, rlhf_share: float, seed: int) -> Scenario:
    """Give the jobs of a trace random types and runs of a world.

    Parameters
    ----------
    workload : Workload
        Jobs whose submit times, GPUs, durations and estimates stay as they are.
    world : World
        Source of the runs; its `hacking` is the share of hacking jobs among RLHF jobs.
    rlhf_share : float
        Share of RLHF jobs, in [0, 1]; half of the rest is LoRA, half DPO.
    seed : int
        Of types, labels and runs.

    Raises
    ------
    UserError
        If the share is none.
    """
    if not 0 <= rlhf_share <= 1:
        raise UserError(f"rlhf-share: it must be between 0 and 1, got {rlhf_share}")
    _, labels, curves = streams(seed)
    dice = labels.random((2, len(workload)))
    kinds = draw_kinds(dice[0], rlhf_share)
    population = world.draw(curves, kinds, draw_hacking(dice[1], kinds, world.hacking))
    return join(workload.jobs, workload.truths, population, workload.notes)


def join(
    jobs: Sequence[Job],
    truths: Sequence[Truth],
    population: Population,
    notes: tuple[str, ...] = (),
) -> Scenario:
    """Tell jobs, in order of submission, what kind of run is behind each."""
    known, runs = population.truth, population.runs
    assert runs.progress is not None
    lengths, first = np.unique(runs.n_evals, return_index=True)
    schedules = {
        n: tuple(runs.progress[row, :n].tolist())
        for n, row in zip(lengths.tolist(), first.tolist(), strict=True)
    }
    typed = [
        replace(job, type=str(kind), evals=schedules[n])
        for job, kind, n in zip(jobs, known.kind, runs.n_evals.tolist(), strict=True)
    ]
    rates = known.loss_rate.tolist()
    told = [replace(truth, loss_rate=rate) for truth, rate in zip(truths, rates, strict=True)]
    return Scenario(Workload(typed, told, notes), population)
