"""What a run amounts to, and the proof that nothing was created or lost in it."""

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from evalstop.detectors.words import plural
from evalstop.simulator.run import Run

POINTLESS_BELOW = 0.8
"""Offered load below which jobs hardly queue, so that policies cannot differ."""


class ConservationError(RuntimeError):
    """GPUs or work appeared or vanished: a defect of the simulator or of an outside policy."""


@dataclass(frozen=True)
class Summary:
    """Numbers of a run; times in seconds, GPU-time in hours.

    JCT is end minus submit. Wait is JCT minus the time on GPUs. Utilisation is GPU-time held over
    GPU-time there was from the first submit to the last end. Overhead is GPU-time held without
    work, to resume or to save. rho (finish-time fairness) is JCT over the JCT when alone on the
    same GPUs.
    """

    scheduler: str
    jobs: int
    gpus: int
    offered_load: float
    jct_mean: float
    jct_p50: float
    jct_p95: float
    jct_p99: float
    wait_mean: float
    wait_p95: float
    makespan: float
    utilisation: float
    preemptions: int
    work_gpu_hours: float
    overhead_gpu_hours: float
    rho_mean: float
    rho_p95: float

    def as_dict(self) -> dict[str, object]:
        """Give it for JSON."""
        return asdict(self)


class Tenant(NamedTuple):
    """Jobs of a tenant, their mean JCT in seconds, and their mean `rho`."""

    jobs: int
    jct_mean: float
    rho_mean: float


def check_conservation(run: Run) -> None:
    """Raise `ConservationError` unless all GPUs and all work are accounted for.

    Every job got exactly its work, on its GPUs, after its submission and never twice at once;
    overhead and saving took as long as they must; GPUs in use never exceeded the cluster.
    """
    stints, jobs, first = run.stints, run.workload.jobs, run.stints.first
    latest, span = np.abs(stints.released).max(), np.ptp(stints.released)
    tolerance = float(1e-9 * max(1.0, span) + 100 * np.spacing(latest))

    def hold(fine: np.ndarray | bool, what: str) -> None:
        if not np.all(fine):
            raise ConservationError(f"{run.scheduler} on {plural(run.gpus, 'GPU')}: {what}")

    bounds = (stints.granted, stints.works_from, stints.stopped, stints.released)
    for before, after in pairwise(bounds):
        hold(after >= before, "a stint runs backwards in time, or never ended")
    got = np.bincount(stints.job, stints.work, minlength=len(jobs))
    due = np.array([t.duration for t in run.workload.truths], dtype=float)
    for i, stop in run.stops.items():
        late = run.delay + run.save_delay + tolerance
        hold(run.delay - tolerance <= stop.at - run.alarms[i] <= late, "a stop came early or late")
        hold(stop.work <= due[i] + tolerance, "a job was stopped after its end")
        hold(stop.again > 0 or run.ends[i] == stop.at, "a stopped job held GPUs after its stop")
        due[i] = stop.work + stop.again
    hold(np.abs(got - due) <= tolerance, "a job got more or less than its work")
    submit = np.array([j.submit for j in jobs], dtype=float)
    hold(stints.granted >= submit[stints.job], "a job ran before it was submitted")
    again = ~first[1:]
    follows = stints.job[1:] == stints.job[:-1]
    hold((stints.granted[1:] >= stints.released[:-1])[follows], "a job ran twice at once")
    hold(stints.in_use()[1].max() <= run.gpus, "more GPUs were in use than there are")
    paid = np.where(stints.work > 0, stints.works_from - stints.granted, 0)
    owed = np.where((stints.work > 0) & ~first, float(run.overhead), 0)
    hold(np.abs(paid - owed) <= tolerance, "a job paid more or less than its overhead")
    hold(len(follows) + 1 - follows.sum() == len(jobs), "a job never ran")
    resubmitted = sum(stop.again > 0 for stop in run.stops.values())
    hold(first.sum() == len(jobs) + resubmitted, "attempts and resubmissions do not add up")
    hold(again.sum() == sum(run.preemptions), "stints and preemptions do not add up")


def summarise(run: Run) -> Summary:
    """Compute the numbers of a run."""
    stints = run.stints
    jobs = run.workload.jobs
    jct = run.jct
    held = np.bincount(stints.job, stints.released - stints.granted, minlength=len(jobs))
    wait = np.maximum(jct - held, 0.0)
    gpu_time = float((stints.gpus * (stints.released - stints.granted)).sum())
    work = float((stints.gpus * (stints.stopped - stints.works_from)).sum())
    makespan = float(max(run.ends) - jobs[0].submit)
    unfair = rho(run)
    p50, p95, p99 = (float(q) for q in np.percentile(jct, [50, 95, 99]))
    return Summary(
        scheduler=run.scheduler,
        jobs=len(jobs),
        gpus=run.gpus,
        offered_load=run.workload.load(run.gpus),
        jct_mean=float(jct.mean()),
        jct_p50=p50,
        jct_p95=p95,
        jct_p99=p99,
        wait_mean=float(wait.mean()),
        wait_p95=float(np.percentile(wait, 95)),
        makespan=makespan,
        utilisation=gpu_time / (run.gpus * makespan) if makespan else 0.0,
        preemptions=sum(run.preemptions),
        work_gpu_hours=work / 3600,
        overhead_gpu_hours=(gpu_time - work) / 3600,
        rho_mean=float(np.mean(unfair)) if len(unfair) else math.nan,
        rho_p95=float(np.percentile(unfair, 95)) if len(unfair) else math.nan,
    )


def rho(run: Run, tenant: str | None = None) -> np.ndarray:
    """Give the finish-time fairness of jobs that worked, all or those of a tenant.

    It is JCT over the JCT when alone on the same GPUs, which is all the work that the job was
    given, a second attempt included; at least 1 unless an elastic policy gave it more GPUs.
    """
    stints, jobs = run.stints, run.workload.jobs
    alone = np.bincount(stints.job, stints.work, minlength=len(jobs))
    asked = np.array([tenant in (None, job.tenant) for job in jobs]) & (alone > 0)
    return np.asarray(run.jct[asked] / alone[asked])


def fairness(run: Run) -> dict[str, Tenant]:
    """Give what each tenant got, by name."""
    found = {}
    for name in sorted({job.tenant for job in run.workload.jobs}):
        rows = np.array([job.tenant == name for job in run.workload.jobs])
        unfair = rho(run, name)
        found[name] = Tenant(
            int(rows.sum()),
            float(run.jct[rows].mean()),
            float(unfair.mean()) if len(unfair) else math.nan,
        )
    return found


def load_warnings(run: Run) -> list[str]:
    """Say where the offered load makes a comparison of policies mean little."""
    load = run.workload.load(run.gpus)
    if len(run.workload) == 1:
        return []
    if load == math.inf:
        return [
            "all jobs arrive at once: there is no offered load, and waits and JCT depend on the "
            "number of jobs; compare policies on the same trace only"
        ]
    if load < POINTLESS_BELOW:
        return [
            f"offered load {load:.2f} is below {POINTLESS_BELOW}: jobs hardly wait, so policies "
            "cannot differ much; use fewer --gpus"
        ]
    if load > 1:
        return [
            f"offered load {load:.2f} is above 1: the queue grows as long as jobs come, so waits "
            "and JCT depend on the number of jobs; compare policies on the same trace only"
        ]
    return []
