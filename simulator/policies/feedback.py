"""Multi-level feedback queues: a job sinks as it is served (shared by `las` and `tiresias`).

A job starts in the first queue and falls into the next when what it has attained reaches the limit
of its queue. A lower queue is served only with what the queues above leave. Inside a queue:

- ``requeue=tail``: after every decision the jobs that did not get GPUs stand behind those that did.
  A preempted job is therefore first among the waiting ones, a job that falls into a queue last.
- ``requeue=fifo``: by the time of entering the queue, whether running or not.

With ``promote=p`` > 0 a job that waits, at a stretch, p times as long as it was served returns to
the first queue, and what it attained counts from 0 again.

`Queues` turns this into keys that stand still: the place of a job is read when it changes hands,
and `review` names the moment of the next fall or promotion.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from evalstop.simulator.exact import exact, ratio, written
from evalstop.simulator.job import JobView
from evalstop.simulator.policies.base import Policy

RUNNING, WAITING = 0, 1


class _Level:
    """Where a job stands."""

    __slots__ = ("forgiven", "place", "queue")

    def __init__(self, place: tuple[int, int]) -> None:
        self.queue = 0
        self.place = place  # in its queue: (RUNNING or WAITING, running number)
        self.forgiven: float = 0  # service before the last promotion


class Queues(Policy):
    """The feedback queues of one run."""

    discipline = "preempt"

    def __init__(
        self, thresholds: Sequence[float], promote: float, *, per_gpu: bool, tail: bool
    ) -> None:
        self.limits = [exact(written(t)) for t in thresholds]
        self.promote = exact(written(promote))
        self.per_gpu = per_gpu
        self.tail = tail
        self.levels: dict[int, _Level] = {}
        self.numbers = itertools.count(1)

    def key(self, job: JobView, now: float) -> Any:  # noqa: ANN401 - a tuple
        """Rank by queue, then by the place in it."""
        level = self.levels.get(job.order)
        if level is None:
            level = self.levels[job.order] = _Level((WAITING, next(self.numbers)))
        if self._to_fall(job, level, now) == 0:
            self._enter(level, level.queue + 1)
        elif self._to_promotion(job, level, now) == 0:
            self._enter(level, 0)
            level.forgiven = job.done
        elif self.tail and job.running and level.place[0] == WAITING:
            level.place = (RUNNING, next(self.numbers))
        elif self.tail and not job.running and level.place[0] == RUNNING:
            level.place = (WAITING, -next(self.numbers))
        return (level.queue, *level.place)

    def review(self, job: JobView, now: float) -> float | None:
        """Look again when the job falls or has waited long enough."""
        level = self.levels[job.order]
        if not job.running:
            wait = self._to_promotion(job, level, now)
            return None if wait is None else now + wait
        wait = self._to_fall(job, level, now)
        return None if wait is None else max(now, job.since) + wait

    def ended(self, job: JobView, now: float) -> bool:
        """Forget the job."""
        del self.levels[job.order]
        return False

    def attained(self, job: JobView, now: float) -> float:
        """Give what counts against the limits: seconds, or seconds times GPUs."""
        service = job.service(now) - self.levels[job.order].forgiven
        return service * job.gpus if self.per_gpu else service

    def seconds_until(self, amount: float, job: JobView, now: float) -> float:
        """Give the seconds of work until `amount` is attained; 0 if it is, to rounding."""
        lacking = amount - self.attained(job, now)
        if lacking <= 1e-9 * amount:
            return 0
        return ratio(lacking, job.gpus) if self.per_gpu else lacking

    def _enter(self, level: _Level, queue: int) -> None:
        level.queue = queue
        level.place = (WAITING, next(self.numbers))

    def _to_fall(self, job: JobView, level: _Level, now: float) -> float | None:
        if level.queue >= len(self.limits):
            return None
        return self.seconds_until(self.limits[level.queue], job, now)

    def _to_promotion(self, job: JobView, level: _Level, now: float) -> float | None:
        """Give the seconds until a waiting job is promoted; 0 if it is due, to rounding."""
        if not self.promote or job.running or level.queue == 0:
            return None
        due = (job.done - level.forgiven) * self.promote
        lacking = due - (now - job.since)
        return lacking if lacking > 1e-9 * due else 0
