"""What a scheduling policy is: an order of jobs, and when that order changes.

A policy is one class with one method, `Policy.key`: the smaller the key, the sooner the job runs
(ties: order of submission). The queue (`evalstop.simulator.queues`) does the rest. It reads a key
when a job arrives, starts, is preempted, or asks for a review, so a policy whose keys stay as they
are in between costs nothing while jobs wait.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from evalstop.simulator.job import JobView, Truth

Discipline = Literal["block", "skip", "preempt", "elastic"]


class Policy:
    """Base of every policy; a policy with settings is a frozen dataclass besides.

    Attributes
    ----------
    name : str
        Name on the command line.
    discipline : {"block", "skip", "preempt", "elastic"}
        ``block``: in order of key, and the first job that does not fit holds up all others.
        ``skip``: in order of key, jobs that do not fit are passed over, nothing is reserved.
        ``preempt``: as ``skip``, over waiting and running jobs alike; running jobs that no longer
        fit give their GPUs back.
        ``elastic``: an `Elastic` policy, which gives jobs as many GPUs as it thinks fit.
    oracle : bool
        Whether `begin` is handed the truths. Such a policy says *oracle* in its first line.
    reads_losses : bool
        Whether the views carry training losses.
    restart : float, optional
        Seconds that a job pays when it resumes, in place of the cluster's overhead.
    """

    name: ClassVar[str] = ""
    discipline: ClassVar[Discipline] = "skip"
    oracle: bool = False
    reads_losses: bool = False
    restart: float | None = None

    def begin(self, gpus: int, truths: Sequence[Truth]) -> "Policy":
        """Give the policy for one run: itself, or an object with memory of its own.

        Parameters
        ----------
        gpus : int
            GPUs of the cluster.
        truths : sequence of Truth
            By `JobView.order`; empty unless the policy is an oracle.
        """
        return self

    def key(self, job: JobView, now: float) -> Any:  # noqa: ANN401 - whatever sorts
        """Give the key of a job; smaller runs first. Keys of one policy are comparable."""
        raise NotImplementedError(f"{type(self).__name__} gives no key")

    def falls(self, job: JobView, now: float) -> float | None:
        """Say how much the (numeric) key of a running job falls a second, until its next review.

        0: it stays as read. None: it moves otherwise, so it is read before every decision.
        """
        return 0

    def review(self, job: JobView, now: float) -> float | None:
        """Give the time at which the key of a job must be read again though nothing happens to it.

        A decision follows. After it, the keys of reviewed jobs that still run are read once more.
        """
        return None

    def ended(self, job: JobView, now: float) -> bool:
        """Learn that a job is done; true = every key must be read again."""
        return False


class Oracle(Policy):
    """A policy that is told the true durations."""

    oracle = True
    truths: Sequence[Truth] = ()

    def begin(self, gpus: int, truths: Sequence[Truth]) -> Policy:
        """Take the truths; that of a job changes when it is submitted again."""
        told = type(self)()
        told.truths = truths
        return told


class Elastic(Policy):
    """A policy under which a job may run on any number of GPUs.

    It decides in rounds. In each it sees all jobs that wait or run, and says how many GPUs each
    gets.

    Attributes
    ----------
    every : float
        Seconds between two rounds, on the clock of the cluster.
    """

    discipline: ClassVar[Discipline] = "elastic"
    every: float

    def allocate(self, jobs: Sequence[JobView], gpus: int, now: float) -> list[int]:
        """Give the GPUs of each job, 0 = it waits; their sum is at most `gpus`."""
        raise NotImplementedError(f"{type(self).__name__} gives no GPUs")

    def speed(self, job: JobView, gpus: int) -> float:
        """Give the seconds of work that a job does in a second on so many GPUs, at least 1 GPU."""
        raise NotImplementedError(f"{type(self).__name__} gives no speed")
