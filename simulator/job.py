"""Jobs: what a platform is told, what is true, and what a scheduler sees.

The three are separate types. A policy is handed `JobView` objects only, and no view refers to a
`Truth`: what a policy may know is enforced, not promised.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evalstop.detectors.words import plural
from evalstop.errors import UserError


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is submitted.

    Parameters
    ----------
    id : str
        Name of the job, unique in its workload.
    submit : float
        Submit time in seconds.
    gpus : int
        GPUs that it needs all at once (a gang): all of them or none.
    estimate : float
        How many seconds of work the platform believes it needs.
    type, tenant : str
        Kind of job ("RLHF") and who submits it; empty when unknown.
    evals : tuple of float
        Progress, in (0, 1], at which the job is evaluated.
    """

    id: str
    submit: float
    gpus: int
    estimate: float
    type: str = ""
    tenant: str = ""
    evals: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Truth:
    """What nobody on the platform knows of a job (what is true of its scores: `truth.Truths`).

    Parameters
    ----------
    duration : float
        Seconds of work on its GPUs until it is done.
    loss_rate : float
        How fast its training loss falls: ``exp(-loss_rate * progress)``.
    """

    duration: float
    loss_rate: float = 4.0


@dataclass(frozen=True)
class Workload:
    """Jobs with their truths, in the order of submission (ties: the order given).

    Parameters
    ----------
    jobs, truths : sequence
        One truth for each job; brought into the order of submission.
    notes : tuple of str
        What the user should know about how it was read.
    """

    jobs: Sequence[Job]
    truths: Sequence[Truth]
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.jobs:
            raise UserError("workload: it has no jobs, give a trace with at least one")
        if len(self.jobs) != len(self.truths):
            raise UserError(
                f"workload: {plural(len(self.jobs), 'job')} but "
                f"{plural(len(self.truths), 'truth')}, give one for each"
            )
        for job, truth in zip(self.jobs, self.truths, strict=True):
            if job.gpus < 1:
                raise UserError(f"job {job.id}: it needs at least 1 GPU, got {job.gpus}")
            if not (0 <= truth.duration < math.inf and 0 <= job.estimate < math.inf):
                raise UserError(
                    f"job {job.id}: duration and estimate must be at least 0 s and finite, "
                    f"got {truth.duration} and {job.estimate}"
                )
            if not -math.inf < job.submit < math.inf:
                raise UserError(f"job {job.id}: the submit time must be finite, got {job.submit}")
        order = sorted(range(len(self.jobs)), key=lambda i: self.jobs[i].submit)
        object.__setattr__(self, "jobs", [self.jobs[i] for i in order])
        object.__setattr__(self, "truths", [self.truths[i] for i in order])

    def __len__(self) -> int:
        return len(self.jobs)

    def load(self, gpus: int) -> float:
        """Give the offered load: GPU-time that arrives per second, over the GPUs there are."""
        span = float(self.jobs[-1].submit - self.jobs[0].submit)
        work = sum(float(t.duration) * j.gpus for j, t in zip(self.jobs, self.truths, strict=True))
        arriving = work * (len(self) - 1) / len(self)
        return arriving / (span * gpus) if span else float("inf")


class JobView:
    """A job as a policy sees it: the facts of its submission and what has happened so far.

    Attributes
    ----------
    gpus : int
        GPUs that it needs, or, under an elastic policy, the last that it held.
    speed : float
        Seconds of work a second on these GPUs: 1 unless the policy is elastic.
    demoted : bool
        Whether it goes behind all jobs that are not.
    id, submit, estimate, type, tenant : str or float
        As in `Job`.
    order : int
        Place in the order of submission; the last tie-breaker everywhere.
    running : bool
        Whether it holds GPUs.
    since : float
        Running: when its work begins or began (after the preemption overhead). Otherwise: since
        when it waits.
    done : float
        Seconds of work in its earlier stints on GPUs; `service` adds the present one.
    losses : sequence of float
        Training losses seen so far, one for every `loss_every` seconds of work, the first at 0;
        empty unless the policy says that it reads them.
    loss_every : float
        Seconds of work between two losses.
    """

    __slots__ = (
        *("_job", "order", "gpus", "speed", "running", "since", "done"),
        *("demoted", "entry", "wake"),
    )

    losses: Sequence[float] = ()
    loss_every: float = math.nan

    def __init__(self, job: Job, order: int) -> None:
        self._job = job
        self.order = order
        self.gpus = job.gpus
        self.speed: float = 1
        self.demoted = False
        self.since = job.submit
        self.running = False
        self.done: float = 0
        self.entry: Any = None  # where the queue keeps it
        self.wake: float | None = None  # when its key is due for a review

    @property
    def id(self) -> str:
        """Name of the job."""
        return self._job.id

    @property
    def requested(self) -> int:
        """GPUs that it was submitted with."""
        return self._job.gpus

    @property
    def submit(self) -> float:
        """Submit time, s."""
        return self._job.submit

    @property
    def estimate(self) -> float:
        """Seconds of work that the platform believes it needs."""
        return self._job.estimate

    @property
    def type(self) -> str:
        """Kind of job."""
        return self._job.type

    @property
    def tenant(self) -> str:
        """Who submitted it."""
        return self._job.tenant

    def service(self, now: float) -> float:
        """Give the seconds of work it has had by `now`, overhead left out."""
        if self.running and now > self.since:
            return self.done + (now - self.since) * self.speed
        return self.done

    def __repr__(self) -> str:
        state = "running" if self.running else "waiting"
        return f"{type(self).__name__}({self.id!r}, {plural(self.gpus, 'GPU')}, {state})"
