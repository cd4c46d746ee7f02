"""What a run amounts to, and the proof that nothing was created or lost in it."""

from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

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
    work, to resume or to save.
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

    def as_dict(self) -> dict[str, object]:
        """Give it for JSON."""
        return asdict(self)


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
            raise ConservationError(f"{run.scheduler} on {run.gpus} GPUs: {what}")

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
    hold(stints.granted[first] >= submit, "a job ran before it was submitted")
    again = ~first[1:]
    follows = stints.job[1:] == stints.job[:-1]
    hold((stints.granted[1:] >= stints.released[:-1])[follows], "a job ran twice at once")
    hold(stints.in_use()[1].max() <= run.gpus, "more GPUs were in use than there are")
    paid = np.where(stints.work > 0, stints.works_from - stints.granted, 0)
    owed = np.where((stints.work > 0) & ~first, float(run.overhead), 0)
    hold(np.abs(paid - owed) <= tolerance, "a job paid more or less than its overhead")
    hold(len(np.unique(stints.job)) == len(jobs), "a job never ran")
    resubmitted = sum(stop.again > 0 for stop in run.stops.values())
    hold(first.sum() == len(jobs) + resubmitted, "attempts and resubmissions do not add up")
    hold(again.sum() == sum(run.preemptions), "stints and preemptions do not add up")


def summarise(run: Run) -> Summary:
    """Compute the numbers of a run."""
    stints = run.stints
    jobs = run.workload.jobs
    submit = np.array([j.submit for j in jobs], dtype=float)
    ends = np.array(run.ends, dtype=float)
    jct = ends - submit
    held = np.bincount(stints.job, stints.released - stints.granted, minlength=len(jobs))
    wait = np.maximum(jct - held, 0.0)
    gpu_time = float((stints.gpus * (stints.released - stints.granted)).sum())
    work = float((stints.gpus * (stints.stopped - stints.works_from)).sum())
    makespan = float(ends.max() - submit.min())
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
    )


def load_warnings(run: Run) -> list[str]:
    """Say where the offered load makes a comparison of policies mean little."""
    load = run.workload.load(run.gpus)
    if len(run.workload) == 1:
        return []
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
