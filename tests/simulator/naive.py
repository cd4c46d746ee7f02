"""A second simulator, as slow and as plain as possible, to hold the real one against.

It steps from moment to moment, re-sorts every job at every decision, and knows each policy as a
rule written from its description, not from its code.
"""

import bisect
import math
from dataclasses import dataclass
from fractions import Fraction

from evalstop.simulator.exact import ratio
from evalstop.simulator.losses import LoggingJob, LossLog
from evalstop.simulator.policies.loss_fit import predicted_drop

FUTURE, WAITING, RUNNING, SAVING, DONE = range(5)


@dataclass(eq=False)
class Task:
    index: int
    submit: float
    gpus: int
    duration: float
    estimate: float
    state: int = FUTURE
    done: float = 0  # work of finished stints
    since: float = 0  # running: when work begins
    saved_at: float = 0
    start: float | None = None
    end: float | None = None
    preemptions: int = 0

    def served(self, now):
        return self.done + (max(now - self.since, 0) if self.state == RUNNING else 0)


class Rule:
    """Key of a task; moments at which a decision is due though nobody comes or goes."""

    discipline = "skip"

    def key(self, task, now):
        raise NotImplementedError

    def moments(self, tasks, now):
        return []

    def arrived(self, task):
        pass

    def before(self, tasks, now):
        pass

    def after(self, tasks, now):
        pass

    def ended(self, task):
        pass


def simulate(tasks, gpus, rule, overhead=0, save_delay=0):
    """Run the tasks to their end, in place."""
    now = -math.inf
    while any(t.state != DONE for t in tasks):
        alive = [t for t in tasks if t.state in (WAITING, RUNNING)]
        times = [t.submit for t in tasks if t.state == FUTURE]
        times += [t.since + t.duration - t.done for t in tasks if t.state == RUNNING]
        times += [t.saved_at for t in tasks if t.state == SAVING]
        times += rule.moments(alive, now)
        now = min(times)
        for t in tasks:
            if t.state == RUNNING and t.since + t.duration - t.done == now:
                t.state, t.end, t.done = DONE, now, t.duration
                rule.ended(t)
        for t in tasks:
            if t.state == SAVING and t.saved_at == now:
                t.state = WAITING
        for t in tasks:
            if t.state == FUTURE and t.submit == now:
                t.state = WAITING
                rule.arrived(t)
        alive = [t for t in tasks if t.state in (WAITING, RUNNING)]
        rule.before(alive, now)
        decide(tasks, alive, gpus, rule, now, overhead=overhead, save_delay=save_delay)
        rule.after([t for t in alive if t.state != SAVING], now)


def decide(tasks, alive, gpus, rule, now, *, overhead, save_delay):
    preempts = rule.discipline == "preempt"
    left = gpus - sum(t.gpus for t in alive if t.state == RUNNING and not preempts)
    chosen = []
    for t in sorted(alive, key=lambda t: (rule.key(t, now), t.index)):
        if t.state == RUNNING and not preempts:
            continue
        if t.gpus <= left:
            chosen.append(t)
            left -= t.gpus
        elif rule.discipline == "block":
            break
    for t in alive:
        if preempts and t.state == RUNNING and t not in chosen:
            t.done = t.served(now)
            t.preemptions += 1
            t.state, t.saved_at = (SAVING, now + save_delay) if save_delay else (WAITING, 0)
    free = gpus - sum(t.gpus for t in tasks if t.state in (RUNNING, SAVING))
    for t in chosen:
        if t.state == WAITING and t.gpus <= free:
            free -= t.gpus
            t.state = RUNNING
            t.since = now + (overhead if t.start is not None else 0)
            t.start = now if t.start is None else t.start


class Fifo(Rule):
    def __init__(self, discipline):
        self.discipline = discipline

    def key(self, task, now):
        return task.submit


class Sjf(Rule):
    def __init__(self, discipline, known):
        self.discipline = discipline
        self.known = known

    def key(self, task, now):
        return getattr(task, self.known)


class Remaining(Rule):
    discipline = "preempt"

    def __init__(self, per_gpu):
        self.per_gpu = per_gpu

    def key(self, task, now):
        return (task.duration - task.served(now)) * (task.gpus if self.per_gpu else 1)


class SrtfEst(Rule):
    discipline = "preempt"

    def key(self, task, now):
        return max(task.estimate - task.served(now), 0.05 * task.estimate)


class SrtfReestimate(Rule):
    discipline = "preempt"

    def believed(self, task, now):
        believed = task.estimate
        while 0 < believed <= task.served(now):
            believed *= 2
        return believed

    def key(self, task, now):
        return max(self.believed(task, now) - task.served(now), 0)

    def moments(self, tasks, now):
        running = [t for t in tasks if t.state == RUNNING]
        times = [t.since + self.believed(t, now) - t.done for t in running]
        return [t for t in times if t > now]


class FewestGpus(Rule):
    discipline = "preempt"

    def key(self, task, now):
        return task.gpus


class GivenRates(Rule):
    discipline = "preempt"

    def __init__(self, truths):
        self.truths = truths

    def key(self, task, now):
        rate = self.truths[task.index].loss_rate
        q = min(float(task.served(now)) / float(task.estimate), 2)
        slope = rate * math.exp(-rate * q) / -math.expm1(-rate)
        return -slope / (float(task.estimate) * task.gpus)


class FittedRates(Rule):
    discipline = "preempt"

    def __init__(self, truths, jobs, seed):
        self.log = LossLog(truths, seed)
        self.views = [LoggingJob(job, i) for i, job in enumerate(jobs)]

    def key(self, task, now):
        view = self.views[task.index]
        view.done, view.since, view.running = task.done, task.since, task.state == RUNNING
        self.log.update(view, now)
        return -predicted_drop(view.losses) / (view.loss_every * task.gpus)


class Feedback(Rule):
    """Queues as lists of tasks, moved about by hand."""

    discipline = "preempt"

    def __init__(self, limits, per_gpu, requeue, promote, delta=None):
        self.limits, self.per_gpu = [Fraction(limit) for limit in limits], per_gpu
        self.requeue, self.promote, self.delta = requeue, promote, delta
        self.queues = [[] for _ in range(len(limits) + 1)]
        self.forgiven, self.last = {}, {}
        self.sizes, self.past = [], []

    def attained(self, task, now):
        service = task.served(now) - self.forgiven.get(task.index, 0)
        return service * task.gpus if self.per_gpu else service

    def level(self, task):
        return next(i for i, queue in enumerate(self.queues) if task in queue)

    def key(self, task, now):
        level = self.level(task)
        if self.delta:
            step = self.attained(task, now) // self.delta
            return (level, -self.rank(step * self.delta))
        return (level, self.queues[level].index(task))

    def rank(self, attained):
        longer = [s for s in self.past if s > attained]
        if not longer:
            return 0.0
        ending = [s for s in longer if s <= attained + self.delta]
        spent = sum(min(float(s) - float(attained), float(self.delta)) for s in longer)
        return round(len(ending) / spent, 12)

    def moments(self, tasks, now):
        times = []
        for t in tasks:
            level = self.level(t)
            if t.state == RUNNING:
                marks = self.limits[level : level + 1]
                if self.delta:
                    marks = [*marks, (self.attained(t, now) // self.delta + 1) * self.delta]
                for mark in marks:
                    lacking = mark - self.attained(t, now)
                    start = max(now, t.since)
                    times.append(start + (ratio(lacking, t.gpus) if self.per_gpu else lacking))
            elif self.promote and level:
                times.append(self.last[t.index] + self.due(t))
        return [t for t in times if t > now]

    def arrived(self, task):
        self.queues[0].append(task)

    def due(self, task):
        return self.promote * (task.done - self.forgiven.get(task.index, 0))

    def before(self, tasks, now):
        for t in tasks:
            level = self.level(t)
            if level < len(self.limits) and self.attained(t, now) >= self.limits[level]:
                self.queues[level].remove(t)
                self.queues[level + 1].append(t)
            elif t.state == RUNNING or not level or not self.promote:
                continue
            elif now >= self.last[t.index] + self.due(t):
                self.queues[level].remove(t)
                self.queues[0].append(t)
                self.forgiven[t.index] = t.done

    def after(self, tasks, now):
        waiting = [t.index for t in tasks if t.state == WAITING]
        self.last = {i: self.last.get(i, now) for i in waiting}  # since when it waits
        if self.requeue == "tail":
            for queue in self.queues:
                queue.sort(key=lambda t: t.state != RUNNING)

    def ended(self, task):
        self.queues[self.level(task)].remove(task)
        bisect.insort(self.sizes, task.duration * (task.gpus if self.per_gpu else 1))
        if len(self.sizes) > 1.1 * len(self.past):
            self.past = list(self.sizes)
