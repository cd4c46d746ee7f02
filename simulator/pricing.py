"""What a stop rule was worth: where the GPU-time went, who was stopped, what others gained.

A stop is judged against the truth of the run behind the job, which neither rule nor policy sees.
"""

from dataclasses import asdict, dataclass

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.simulator.run import Run
from evalstop.simulator.truth import Truths

HOUR = 3600.0


@dataclass(frozen=True)
class Bill:
    """What stops did in a run, and what they did not.

    Parameters
    ----------
    stopped : int
        Jobs that were stopped.
    wrongly_stopped : int
        Those of them that were not hacking.
    resubmitted : int
        Those of them that were submitted again.
    demoted : int
        Jobs that an alarm put behind all others.
    alarms_at_last : int
        Jobs whose alarm came with their last eval: they finished, nothing was saved.
    waste_gpu_hours : float
        GPU-time that hacking jobs worked after their true peak.
    destroyed_gpu_hours : float
        GPU-time that wrongly stopped jobs had worked, unless they went on from there later.
    undone_gpu_hours : float
        GPU-time that wrongly stopped jobs would still have worked and never did, on the GPUs that
        they were submitted with.
    overhead_gpu_hours : float
        GPU-time held without work, to resume or to save.
    total_gpu_hours : float
        GPU-time held.
    """

    stopped: int
    wrongly_stopped: int
    resubmitted: int
    demoted: int
    alarms_at_last: int
    waste_gpu_hours: float
    destroyed_gpu_hours: float
    undone_gpu_hours: float
    overhead_gpu_hours: float
    total_gpu_hours: float

    def cost(self, wrong_stop: float) -> float:
        """Give the cost of the run in GPU-hours.

        Parameters
        ----------
        wrong_stop : float
            What a wrong stop costs, in GPU-hours: the work that is lost, and the trouble.
        """
        spent = self.waste_gpu_hours + self.overhead_gpu_hours
        return spent + wrong_stop * self.wrongly_stopped

    def as_dict(self) -> dict[str, float]:
        """Give it for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Gain:
    """How much better a run was than another of the same jobs; shares of the other's value.

    Parameters
    ----------
    jct, jct_p95, jct_p99 : float
        Fall of the mean and of percentiles of the JCT over all jobs, however they left.
    jct_matched : float
        Fall of the mean JCT over the jobs that were neither stopped nor demoted in either run: what
        stops are worth to the others.
    waste : float
        Fall of the GPU-time that hacking jobs work after their true peak (*waste cut*).
    gpu_time : float
        Fall of the GPU-time held.
    """

    jct: float
    jct_p95: float
    jct_p99: float
    jct_matched: float
    waste: float
    gpu_time: float

    def as_dict(self) -> dict[str, float]:
        """Give it for JSON."""
        return asdict(self)


def settle(run: Run, truth: Truths) -> Bill:
    """Judge a run.

    Parameters
    ----------
    run : Run
    truth : Truths
        Of the run behind each job, in the order of the workload.
    """
    stints, jobs = run.stints, run.workload.jobs
    worked = stints.gpus * (stints.stopped - stints.works_from)
    held = stints.gpus * (stints.released - stints.granted)
    wrong = {i: stop for i, stop in run.stops.items() if not truth.hacking[i]}
    lost = never = 0.0
    for i, stop in wrong.items():
        whole = run.workload.truths[i].duration
        if not stop.again:
            never += jobs[i].gpus * float(whole - stop.work)
        if stop.again in (0, whole):
            first = int(np.searchsorted(stints.job, i))
            lost += float(worked[first : first + stop.preemptions + 1].sum())
    return Bill(
        stopped=len(run.stops),
        wrongly_stopped=len(wrong),
        resubmitted=sum(stop.again > 0 for stop in run.stops.values()),
        demoted=len(run.demoted),
        alarms_at_last=len(run.alarms_at_last),
        waste_gpu_hours=float((worked * _share_after_peak(run, truth)).sum()) / HOUR,
        destroyed_gpu_hours=lost / HOUR,
        undone_gpu_hours=never / HOUR,
        overhead_gpu_hours=float((held - worked).sum()) / HOUR,
        total_gpu_hours=float(held.sum()) / HOUR,
    )


def gain(base: Run, run: Run, truth: Truths) -> Gain:
    """Compare a run with another of the same workload; positive = the second is better."""
    before, after = base.jct, run.jct
    same = np.full(len(before), True)
    for touched in (base, run):
        same[[*touched.stops, *touched.demoted]] = False
    old, new = settle(base, truth), settle(run, truth)
    p95, p99 = (_fall(np.percentile(before, q), np.percentile(after, q)) for q in (95, 99))
    return Gain(
        jct=_fall(before.mean(), after.mean()),
        jct_p95=p95,
        jct_p99=p99,
        jct_matched=_fall(before[same].mean(), after[same].mean()) if same.any() else np.nan,
        waste=_fall(old.waste_gpu_hours, new.waste_gpu_hours),
        gpu_time=_fall(old.total_gpu_hours, new.total_gpu_hours),
    )


def _share_after_peak(run: Run, truth: Truths) -> FloatArray:
    """Give the share of each stint's work that comes after its job's true peak."""
    stints = run.stints
    total = np.cumsum(stints.work)
    starts = np.searchsorted(stints.job, stints.job)  # the first stint of the same job
    before = total - stints.work
    done = total - before[starts]
    durations = np.array([t.duration for t in run.workload.truths], dtype=float)
    peak = np.where(truth.hacking, truth.peak, np.inf) * durations
    after = np.clip(done - peak[stints.job], 0, stints.work)
    share: FloatArray = np.where(stints.work > 0, after / np.maximum(stints.work, 1e-300), 0)
    return share


def _fall(before: float, after: float) -> float:
    return float(1 - after / before) if before else np.nan
