"""The event loop: a cluster of alike GPUs, jobs that come and go, one policy.

Events are ``(time, kind, order of the job)`` in one heap; arrivals wait in a list of their own,
since they are known and sorted. At equal times ends release their GPUs first, then jobs that have
saved, then arrivals are queued, then keys are reviewed, then one scheduling pass decides. So a run
depends on nothing but its inputs.

What a run records is in `evalstop.simulator.run`.
"""

import heapq
import math

from evalstop.detectors.settings import spec_of
from evalstop.errors import UserError
from evalstop.simulator.accounting import check_conservation
from evalstop.simulator.job import JobView, Workload
from evalstop.simulator.losses import LoggingJob, LossLog
from evalstop.simulator.policies.base import Policy
from evalstop.simulator.preemption import PreemptiveQueue
from evalstop.simulator.queues import BlockingQueue, Queue
from evalstop.simulator.run import Run, Stint

QUEUES = {"block": BlockingQueue, "skip": Queue, "preempt": PreemptiveQueue}
END, SAVED, REVIEW = range(3)
Event = tuple[float, int, int]


def simulate(  # noqa: PLR0913 - a cluster has as many numbers
    workload: Workload,
    policy: Policy,
    gpus: int,
    *,
    overhead: float = 0,
    save_delay: float = 0,
    seed: int = 0,
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
    run = Engine(workload, policy, gpus, overhead, save_delay, seed).run()
    check_conservation(run)
    return run


class Engine:
    """The cluster in time; a queue starts and preempts jobs on it (`queues.Cluster`)."""

    def __init__(  # noqa: PLR0913, PLR0917 - as `simulate`
        self,
        workload: Workload,
        policy: Policy,
        gpus: int,
        overhead: float,
        save_delay: float,
        seed: int,
    ) -> None:
        n, truths = len(workload), workload.truths
        self.workload, self.policy, self.gpus = workload, policy, gpus
        self.overhead, self.save_delay = overhead, save_delay
        begun = policy.begin(gpus, truths if policy.oracle else ())
        observe = LossLog(truths, seed).update if policy.reads_losses else None
        self.queue = QUEUES[begun.discipline](begun, self, observe)
        self.view = LoggingJob if policy.reads_losses else JobView
        # whether the policy needs to see jobs only while they wait
        self.blind = begun.discipline != "preempt" and type(begun).ended is Policy.ended
        self.submits: list[float] = [*(job.submit for job in workload.jobs), math.inf]
        self.sizes = [job.gpus for job in workload.jobs]
        self.work = [truth.duration for truth in truths]
        self.events: list[Event] = []
        self.views: dict[int, JobView] = {}  # of the jobs that the policy sees
        self.free, self.saving = gpus, 0
        self.granted: list[float] = [0] * n  # when the latest stint began
        self.works_from: list[float] = self.granted if self.blind else [0] * n
        self.ends: list[float] = [math.nan] * n  # of the latest stint, unless it is cut short
        self.preemptions = [0] * n
        self.interrupted: list[Stint] = []

    def run(self) -> Run:
        """Go from event to event until no job is left."""
        events, submits, ends, queue = self.events, self.submits, self.ends, self.queue
        sizes, blind, arrived = self.sizes, self.blind, 0
        while events or submits[arrived] < math.inf:
            now = submits[arrived]
            if events and events[0][0] < now:
                now = events[0][0]
            happened = False
            while events and events[0][0] == now and events[0][1] != REVIEW:
                _, kind, i = heapq.heappop(events)
                if kind == SAVED:
                    self._saved(i, now)
                elif blind:
                    self.free += sizes[i]
                elif ends[i] == now and i in self.views:
                    self.free += sizes[i]
                    queue.leave(self.views.pop(i), now)
                else:  # the end of a stint that was cut short
                    continue
                happened = True
            if submits[arrived] == now:
                happened = True
                if blind and not queue.wanted and sizes[arrived] <= self.free:
                    arrived += self._start_alone(arrived, now)
                while submits[arrived] == now:
                    self._arrive(arrived, now)
                    arrived += 1
            while events and events[0][0] == now and events[0][1] == REVIEW:
                happened |= self._review(heapq.heappop(events)[2], now)
            if happened and (queue.wanted or queue.reviewed):
                queue.decide(now)
        return self._result()

    def _start_alone(self, i: int, now: float) -> bool:
        """Start a job that comes alone, while nobody waits: no policy could decide otherwise."""
        if self.submits[i + 1] == now:
            return False
        self.free -= self.sizes[i]
        self.granted[i] = now
        self.ends[i] = end = now + self.work[i]
        heapq.heappush(self.events, (end, END, i))
        return True

    def _arrive(self, i: int, now: float) -> None:
        self.views[i] = view = self.view(self.workload.jobs[i], i)
        self.queue.arrive(view, now)

    def _review(self, i: int, now: float) -> bool:
        view = self.views.get(i)
        return view is not None and self.queue.review(view, now)

    def start(self, job: JobView, now: float) -> None:
        """Give a waiting job its GPUs."""
        i = job.order
        job.running, job.since = True, now
        if self.preemptions[i]:
            job.since = now + self.overhead
        self.free -= job.gpus
        self.granted[i] = now
        self.works_from[i] = job.since
        self.ends[i] = end = job.since + (self.work[i] - job.done)
        heapq.heappush(self.events, (end, END, i))
        if self.blind:
            del self.views[i]

    def preempt(self, job: JobView, now: float) -> None:
        """Take the GPUs of a running job; it queues again when it has saved."""
        i = job.order
        works_from = min(job.since, now)  # it may be cut off before the overhead is paid
        stint = Stint(i, self.granted[i], works_from, now, now + self.save_delay)
        self.interrupted.append(stint)
        self.preemptions[i] += 1
        self.ends[i] = math.nan
        job.done += now - works_from
        job.running, job.since, job.entry = False, now, None
        self.saving += job.gpus
        if self.save_delay:
            heapq.heappush(self.events, (stint.released, SAVED, i))
        else:
            self._saved(i, now)

    def wake(self, job: JobView, time: float) -> None:
        """Note when a key must be reviewed."""
        heapq.heappush(self.events, (time, REVIEW, job.order))

    def _saved(self, i: int, now: float) -> None:
        self.saving -= self.sizes[i]
        self.free += self.sizes[i]
        self.queue.arrive(self.views[i], now)

    def _result(self) -> Run:
        return Run(
            workload=self.workload,
            scheduler=spec_of(self.policy),
            gpus=self.gpus,
            overhead=self.overhead,
            save_delay=self.save_delay,
            ends=self.ends,
            preemptions=self.preemptions,
            outcomes=["finished"] * len(self.ends),
            interrupted=self.interrupted,
            granted=self.granted,
            works_from=self.works_from,
        )
