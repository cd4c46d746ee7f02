"""Small clusters whose jobs have runs that one can write down."""

import numpy as np

from evalstop.detectors import Runs
from evalstop.simulator import Job, Truth, Workload
from evalstop.simulator.presets.scenario import Scenario
from evalstop.simulator.truth import Population, Truths

FALLS_LATE = (0.1, 0.9, 0.5, 0.3)
"""Declines at the third and at the last of four evals; its peak is at half of the run."""
RISES = (0.1, 0.3, 0.5, 0.9)


def scenario(*jobs, hours=1, tenant=("",)):
    """Make a scenario of jobs ``(submit, gpus, duration, scores)``, evaluated at quarters.

    A run whose scores are `FALLS_LATE` is hacking.
    """
    progress = np.tile([0.25, 0.5, 0.75, 1.0], (len(jobs), 1))
    scores = np.array([scores for *_, scores in jobs], dtype=float)
    hacking = np.array([scores is FALLS_LATE for *_, scores in jobs])
    workload = Workload(
        [
            Job(str(i), submit * hours, gpus, duration * hours, "RLHF", tenant[i % len(tenant)])
            for i, (submit, gpus, duration, _) in enumerate(jobs)
        ],
        [Truth(duration * hours) for *_, duration, _ in jobs],
    )
    truth = Truths(
        kind=np.full(len(jobs), "RLHF"),
        hacking=hacking,
        peak=np.where(hacking, 0.5, np.nan),
        true_score=scores,
        loss_rate=np.full(len(jobs), 4.0),
    )
    return Scenario(workload, Population(Runs(scores, progress=progress), truth))
