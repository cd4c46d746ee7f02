"""Jobs and the runs behind them: what a stopper is priced on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evalstop.errors import UserError
from evalstop.simulator.job import Job, Truth, Workload
from evalstop.simulator.truth import Population, StrArray
from evalstop.simulator.worlds.world import KINDS, World


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


class Streams(NamedTuple):
    """Independent random numbers of one seed for what may be changed apart.

    A change of world or of a share leaves the jobs as they are, so compared runs differ in nothing
    else.
    """

    jobs: np.random.Generator
    types: np.random.Generator
    labels: np.random.Generator
    curves: np.random.Generator

    @classmethod
    def of(cls, seed: int) -> "Streams":
        """Split a seed."""
        children = np.random.SeedSequence(seed).spawn(len(cls._fields))
        return cls(*(np.random.default_rng(child) for child in children))


def draw_types(rng: np.random.Generator, n_jobs: int, rlhf_share: float) -> StrArray:
    """Draw job types: a share of RLHF, half of the rest LoRA, half DPO."""
    bounds = (rlhf_share, (1 + rlhf_share) / 2)
    types: StrArray = np.array(KINDS)[np.searchsorted(bounds, rng.random(n_jobs), side="right")]
    return types


def draw_runs(world: World, types: StrArray, random: Streams) -> Population:
    """Draw the run behind each job; the world's share of the RLHF jobs is hacking."""
    hacking = (types == "RLHF") & (random.labels.random(len(types)) < world.hacking)
    return world.draw(random.curves, types, hacking)


def overlay(
    workload: Workload, world: World, seed: int, rlhf_share: float | None = None
) -> Scenario:
    """Give the jobs of a trace runs of a world.

    Parameters
    ----------
    workload : Workload
        Jobs whose submit times, GPUs, durations and estimates stay as they are.
    world : World
        Source of the runs; its `hacking` is the share of hacking jobs among RLHF jobs.
    seed : int
        Of types, labels and runs.
    rlhf_share : float, optional
        Types are drawn with this share of RLHF jobs, half of the rest LoRA, half DPO. Default: the
        types of the trace.

    Raises
    ------
    UserError
        If the share is none, or is not given and the trace has no types that the world knows.
    """
    random = Streams.of(seed)
    if rlhf_share is None:
        types = np.array([job.type for job in workload.jobs])
        unknown = next((job for job in workload.jobs if job.type not in KINDS), None)
        if unknown is not None:
            raise UserError(
                f"job {unknown.id}: its type is {unknown.type!r}, worlds make runs of type "
                f"{', '.join(KINDS)}; give --rlhf-share to have types drawn"
            )
    elif 0 <= rlhf_share <= 1:
        types = draw_types(random.types, len(workload), rlhf_share)
    else:
        raise UserError(f"rlhf-share: it must be between 0 and 1, got {rlhf_share}")
    population = draw_runs(world, types, random)
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
