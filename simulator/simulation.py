"""`simulate`: what is asked is checked, all jobs are run, and the books must balance."""

import math

from evalstop.errors import UserError
from evalstop.simulator.accounting import check_conservation
from evalstop.simulator.engine import Engine
from evalstop.simulator.job import Workload
from evalstop.simulator.policies.base import Policy
from evalstop.simulator.run import Run
from evalstop.simulator.stops import Stops


def simulate(  # noqa: PLR0913 - a cluster has as many numbers
    workload: Workload,
    policy: Policy,
    gpus: int,
    *,
    overhead: float = 0,
    save_delay: float = 0,
    seed: int = 0,
    stops: Stops | None = None,
) -> Run:
    """Run all jobs of a workload to their end.

    Parameters
    ----------
    workload : Workload
    policy : Policy
        Any member of `evalstop.simulator.policies`, or one's own.
    gpus : int
        GPUs of the cluster, at least 1.
    overhead : float
        Seconds that a preempted job pays when it resumes, holding its GPUs.
    save_delay : float
        Seconds that a preempted job keeps its GPUs to save its state.
    seed : int
        Of the noise in training losses, which only loss-aware policies see.
    stops : Stops, optional
        Rule that stops jobs before they are done (`evalstop.simulator.evalstop.EvalStop` makes it).

    Raises
    ------
    UserError
        If a job needs more GPUs than there are, or a number is out of range.
    ConservationError
        If GPUs or work were created or lost: a defect.
    """
    if gpus < 1:
        raise UserError(f"cluster: it needs at least 1 GPU, got {gpus}")
    for name, value in (("preemption overhead", overhead), ("save delay", save_delay)):
        if not 0 <= value < math.inf:
            raise UserError(f"{name}: it must be at least 0 s, got {value}")
    largest = max(workload.jobs, key=lambda job: job.gpus)
    if largest.gpus > gpus:
        part = math.ceil(largest.gpus / gpus)
        raise UserError(
            f"job {largest.id}: it needs {largest.gpus} GPUs and the cluster has {gpus}, give "
            f"--gpus {largest.gpus} or divide all demands with --scale-gpus 1/{part}"
        )
    run = Engine(workload, policy, gpus, overhead, save_delay, seed, stops).run()
    check_conservation(run)
    return run
