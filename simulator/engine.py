"""The event loop: a cluster of alike GPUs, jobs that come and go, one policy.

Events are ``(time, kind, order of the job)`` in one heap; arrivals wait in a list of their own,
since they are known and sorted. At equal times ends release their GPUs first, then jobs that have
saved, then those that a person stops, then arrivals are queued, then keys are reviewed, then one
scheduling pass decides. So a run depends on nothing but its inputs.

A stop rule (`evalstop.simulator.stops.Stops`) names for each job the work after which it is asked
next. The job then gets an event there before that of its end.

What a run records is in `evalstop.simulator.run`.
"""

import heapq
import math

from evalstop.detectors.settings import spec_of
from evalstop.simulator.elastic import ElasticQueue
from evalstop.simulator.job import Job, JobView, Truth, Workload
from evalstop.simulator.losses import LoggingJob, LossLog
from evalstop.simulator.policies.base import Discipline, Policy
from evalstop.simulator.preemption import PreemptiveQueue
from evalstop.simulator.queues import BlockingQueue, Queue
from evalstop.simulator.run import Run, Stint
from evalstop.simulator.stops import Stops

QUEUES: dict[Discipline, type[Queue]] = {
    "block": BlockingQueue,
    "skip": Queue,
    "preempt": PreemptiveQueue,
    "elastic": ElasticQueue,
}
END, SAVED, STOP, REVIEW = range(4)
EVERYBODY = -1
Event = tuple[float, int, int]


class Engine:
    """The cluster in time; a queue starts and preempts jobs on it (`queues.Cluster`).

    Parameters as `evalstop.simulator.simulate`, which has checked them.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - a cluster has as many numbers
        self,
        workload: Workload,
        policy: Policy,
        gpus: int,
        overhead: float,
        save_delay: float,
        seed: int,
        stops: Stops | None,
    ) -> None:
        n, truths = len(workload), list(workload.truths)
        self.workload, self.policy, self.gpus = workload, policy, gpus
        begun = policy.begin(gpus, truths if policy.oracle else ())
        self.overhead = overhead if begun.restart is None else begun.restart
        self.save_delay = save_delay
        observe = LossLog(truths, seed).update if policy.reads_losses else None
        self.queue = QUEUES[begun.discipline](begun, self, observe)
        self.view = LoggingJob if policy.reads_losses else JobView
        # whether the policy needs to see jobs only while they wait
        self.blind = (
            stops is None
            and begun.discipline in {"block", "skip"}
            and type(begun).ended is Policy.ended
        )
        self.submits: list[float] = [*(job.submit for job in workload.jobs), math.inf]
        self.sizes = [job.gpus for job in workload.jobs]  # GPUs of the latest stint
        self.speeds: list[float] = [1] * n  # and its seconds of work a second
        self.truths = truths  # that of a job changes when it is submitted again
        self.work = [truth.duration for truth in truths]
        self.stops = stops or Stops(workload, [math.inf] * n)
        self.events: list[Event] = []
        self.views: dict[int, JobView] = {}  # of the jobs that the policy sees
        self.free, self.saving = gpus, 0
        self.granted: list[float] = [0] * n  # when the latest stint began
        self.works_from: list[float] = self.granted if self.blind else [0] * n
        # when the latest stint ends or its job comes to a mark, unless it is cut short
        self.ends: list[float] = [math.nan] * n
        self.owed: list[float] = [0] * n  # overhead at the next start
        self.preemptions = [0] * n
        self.interrupted: list[Stint] = []
        self.saves: dict[int, float] = {}  # until when

    def run(self) -> Run:
        """Go from event to event until no job is left."""
        events, submits, queue = self.events, self.submits, self.queue
        sizes, blind, arrived = self.sizes, self.blind, 0
        arrival, never = submits[0], math.inf
        while events or arrival < never:
            now = arrival
            if events and events[0][0] < now:
                now = events[0][0]
            happened = False
            while events and events[0][0] == now and events[0][1] != REVIEW:
                _, kind, i = heapq.heappop(events)
                if blind:
                    self.free += sizes[i]
                    happened = True
                elif self._carry_out(kind, i, now):
                    happened = True
                elif not happened:  # it changes nothing, so what comes with it tells the time
                    now = math.nan
            if arrival == now:
                happened = True
                arrival = submits[arrived + 1]
                if blind and arrival > now and not queue.wanted and sizes[arrived] <= self.free:
                    # it comes alone while nobody waits: no policy could decide otherwise
                    self._start_unseen(arrived, now)
                    arrived += 1
                while submits[arrived] == now:
                    self._arrive(arrived, self.workload.jobs[arrived], now)
                    arrived += 1
                arrival = submits[arrived]
            while events and events[0][0] == now and events[0][1] == REVIEW:
                happened |= self._review(heapq.heappop(events)[2], now)
            if happened and (queue.wanted or queue.reviewed):
                queue.decide(now)
        return self._result()

    def _start_unseen(self, i: int, now: float) -> None:
        """Start a job that the policy will not see again."""
        self.free -= self.sizes[i]
        self.granted[i] = now
        self.ends[i] = end = now + self.work[i]
        heapq.heappush(self.events, (end, END, i))

    def _carry_out(self, kind: int, i: int, now: float) -> bool:
        """Do what an event says; true = somebody else may run now."""
        job = self.views.get(i)
        if job is None:  # it has left
            return False
        if kind == SAVED:
            self._saved(job, now)
        elif kind == STOP:
            return self.stops.react(job, now, self)
        elif self.ends[i] != now or self.stops.goes_on(job, now, self):
            return False  # the stint was cut short, or came to a mark
        else:
            self._leave(job, now)
        return True

    def _arrive(self, i: int, job: Job, now: float) -> None:
        self.views[i] = view = self.view(job, i)
        self.queue.arrive(view, now)

    def _review(self, i: int, now: float) -> bool:
        view = self.views.get(i)
        return (view is not None or i == EVERYBODY) and self.queue.review(view, now)

    def start(self, job: JobView, now: float) -> None:
        """Give a waiting job its GPUs."""
        i = job.order
        if self.blind:
            del self.views[i]
            self._start_unseen(i, now)
            return
        job.running, job.since = True, now + self.owed[i]
        self.free -= job.gpus
        self.granted[i] = now
        self.works_from[i] = job.since
        self.sizes[i], self.speeds[i] = job.gpus, job.speed
        self.aim(job)

    def aim(self, job: JobView) -> None:
        """Set the moment at which a running job ends or comes to its mark."""
        i = job.order
        left = max(min(self.work[i], self.stops.marks[i]) - job.done, 0)  # less by rounding only
        self.ends[i] = end = job.since + (left if job.speed == 1 else left / job.speed)
        heapq.heappush(self.events, (end, END, i))

    def preempt(self, job: JobView, now: float) -> None:
        """Take the GPUs of a running job; it queues again when it has saved."""
        i = job.order
        self._cut(i, min(job.since, now), now, now + self.save_delay)
        self.preemptions[i] += 1
        self.owed[i] = self.overhead
        self.ends[i] = math.nan
        job.done = job.service(now)
        job.running, job.since, job.entry = False, now, None
        self.saving += job.gpus
        if self.save_delay:
            self.saves[i] = now + self.save_delay
            heapq.heappush(self.events, (self.saves[i], SAVED, i))
        else:
            self._saved(job, now)

    def wake(self, job: JobView | None, time: float) -> None:
        """Note when a key must be reviewed, or, without a job, all of them."""
        heapq.heappush(self.events, (time, REVIEW, job.order if job else EVERYBODY))

    def call(self, job: JobView, time: float) -> None:
        """Note when somebody reacts to the alarm of a job."""
        heapq.heappush(self.events, (time, STOP, job.order))

    def _cut(self, i: int, works_from: float, stopped: float, released: float) -> None:
        """Note a stint that is not its job's last."""
        times = (self.granted[i], works_from, stopped, released)
        self.interrupted.append(Stint(i, *times, self.sizes[i], self.speeds[i]))

    def _saved(self, job: JobView, now: float) -> None:
        self.saves.pop(job.order, None)
        self.saving -= job.gpus
        self.free += job.gpus
        self.queue.arrive(job, now)

    def stop(self, job: JobView, now: float) -> None:
        """Let a job go before it is done."""
        i = job.order
        if not job.running:  # an empty last stint
            self.granted[i] = job.since = now
        self.works_from[i] = min(job.since, now)
        self.ends[i] = now
        self._leave(job, now)

    def submit_again(self, i: int, job: Job, truth: Truth, now: float) -> None:
        """Queue a job that was stopped as a new one."""
        self._cut(i, self.works_from[i], now, now)
        self.truths[i], self.work[i] = truth, truth.duration
        self.owed[i] = 0
        self._arrive(i, job, now)

    def _leave(self, job: JobView, now: float) -> None:
        if job.running:
            self.free += job.gpus
        del self.views[job.order]
        self.queue.leave(job, now)
        job.running = False

    def _result(self) -> Run:
        return Run(
            workload=self.workload,
            scheduler=spec_of(self.policy),
            gpus=self.gpus,
            overhead=self.overhead,
            save_delay=self.save_delay,
            ends=self.ends,
            preemptions=self.preemptions,
            interrupted=self.interrupted,
            granted=self.granted,
            works_from=self.works_from,
            sizes=self.sizes,
            speeds=self.speeds,
            delay=self.stops.reaction.delay,
            alarms=self.stops.alarms,
            stops=self.stops.stopped,
            demoted=self.stops.demoted,
            alarms_at_last=self.stops.at_last,
        )
