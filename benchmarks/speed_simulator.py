"""Speed of the cluster simulator: ``python -m evalstop.benchmarks.speed_simulator [TRACE]``.

Measures, on one core and in one run: FIFO beside SimPy's ``Container`` on the same jobs (extra
``peers``), oracle SRTF, 20,000 jobs like those of Philly on 1,024 GPUs (or of TRACE, any file that
``evalstop simulate`` reads), time per event from 1,000 to 100,000 jobs, a bare heap of callbacks,
memory per job; what a stop rule costs on the paper's cluster. Exit status 1 if a promise is broken.
"""

import gc
import heapq
import sys
import time
import tracemalloc
from collections.abc import Callable, Generator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from evalstop.benchmarks import timing
from evalstop.benchmarks.paper_check import COMPOSED, measure, rules
from evalstop.benchmarks.timing import Row, report
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.simulator import Job, Truth, Workload, build_policy, simulate
from evalstop.simulator.evalstop import EvalStop
from evalstop.simulator.presets import build_preset
from evalstop.simulator.traces import read_trace

GPUS, LOAD, SEED = 64, 0.7, 1
BYTES_A_JOB = 1024


def best_of(run: Callable[[], object], repeats: int = 20) -> float:
    """Give the shortest CPU time of several runs, without the garbage of what ran before."""
    gc.collect()
    return timing.best_of(run, repeats, clock=time.process_time)


def made_up(n: int, *, gpus: int = GPUS, load: float = LOAD, philly: bool = False) -> Workload:
    """Make Poisson arrivals of exponential jobs, or of jobs as mixed as Philly's."""
    rng = np.random.default_rng(SEED)
    if philly:
        sizes = rng.choice([1, 2, 4, 8, 16], n, p=[0.965, 0.013, 0.012, 0.009, 0.001])
        work = rng.lognormal(7.4, 2.0, n)
    else:
        sizes, work = rng.choice([1, 1, 2, 4, 8], n), rng.exponential(3600, n)
    gap = (sizes * work).mean() / (load * gpus)
    submit = np.cumsum(rng.exponential(gap, n))
    rows = zip(submit.tolist(), sizes.tolist(), work.tolist(), strict=True)
    jobs = [Job(str(i), *row) for i, row in enumerate(rows)]
    return Workload(jobs, [Truth(job.estimate) for job in jobs])


def simpy_fifo(workload: Workload, gpus: int) -> list[float]:
    """Give the end times under SimPy: one process for each job, GPUs in a container."""
    import simpy

    environment = simpy.Environment()
    free = simpy.Container(environment, gpus, init=gpus)
    ends = [0.0] * len(workload)

    def run(i: int, size: int, work: float) -> Generator[Any, Any, None]:
        yield free.get(size)
        yield environment.timeout(work)
        ends[i] = environment.now
        yield free.put(size)

    def submit() -> Generator[Any, Any, None]:
        for i, (job, truth) in enumerate(zip(workload.jobs, workload.truths, strict=True)):
            yield environment.timeout(job.submit - environment.now)
            environment.process(run(i, job.gpus, truth.duration))

    environment.process(submit())
    environment.run()
    return ends


def simpy_time(workload: Workload) -> float | None:
    """Give SimPy's seconds for a job, having seen that it comes to the same; none without it."""
    try:
        ends = simpy_fifo(workload, GPUS)
    except ImportError:
        print("simpy is not installed (extra 'peers'): no ratio", file=sys.stderr)
        return None
    if not np.allclose(ends, simulate(workload, build_policy("fifo"), GPUS).ends):
        raise RuntimeError("SimPy runs something else")
    return best_of(lambda: simpy_fifo(workload, GPUS)) / len(workload)


class Callback:
    """An event of the barest simulator there is: it plans the one after it."""

    __slots__ = ("heap", "serial", "times")

    def __init__(self, heap: list[Any], serial: "count[int]", times: list[float]) -> None:
        self.heap, self.serial, self.times = heap, serial, times

    def __call__(self, now: float) -> None:
        """Plan the next event, if there is one."""
        if self.times:
            heapq.heappush(self.heap, (now + self.times.pop(), next(self.serial), self))


def bare_heap(n_events: int, at_once: int) -> None:
    """Run so many events with so many pending."""
    times = np.random.default_rng(SEED).exponential(1, n_events).tolist()
    heap: list[Any] = []
    serial = count()
    for _ in range(at_once):
        Callback(heap, serial, times)(0.0)
    while heap:
        now, _, callback = heapq.heappop(heap)
        callback(now)


def run_time(scheduler: str, workload: Workload, gpus: int = GPUS, repeats: int = 20) -> float:
    """Give the seconds of a run, conservation checked."""
    policy = build_policy(scheduler)
    return best_of(lambda: simulate(workload, policy, gpus, overhead=120), repeats)


def bytes_a_job(scheduler: str, n: int = 20_000) -> float:
    """Give the peak memory of making and running a workload, over its jobs."""
    made_up(10)
    gc.collect()
    tracemalloc.start()
    run = simulate(made_up(n), build_policy(scheduler), GPUS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / len(run.workload)


def speed(trace: Path | None) -> list[Row]:
    """Measure everything that takes time."""
    small = made_up(4000)
    a_job = {name: run_time(name, small) / len(small) for name in ("fifo", "srtf")}
    peer = simpy_time(small)
    beside = (peer / a_job["fifo"], 5) if peer else (None, None)
    rows = [
        Row("fifo, a job (4,000 jobs, 64 GPUs)", a_job["fifo"], 1 / 50_000, "SimPy", *beside),
        Row("srtf, a job", a_job["srtf"], 1 / 5_000),
    ]
    philly = read_trace(trace) if trace else made_up(20_000, gpus=1024, load=0.95, philly=True)
    name = trace.name if trace else "20,000 jobs like Philly's"
    rows.append(Row(f"srtf, {name}, 1,024 GPUs", run_time("srtf", philly, 1024, 1), 5.0))

    bare = best_of(lambda: bare_heap(100_000, 30)) / 100_000
    rows.append(Row("bare heap with callbacks, an event", bare))
    for scheduler, limit in (("fifo", 3 * bare), ("srtf", None)):
        few = run_time(scheduler, made_up(1000)) / 2000  # an arrival and an end for each job
        rows.append(Row(f"{scheduler}, an event (1,000 jobs)", few, limit))
        for n in (10_000, 100_000):
            many = run_time(scheduler, made_up(n), repeats=3) / (2 * n)
            rows.append(Row(f"{scheduler}, an event ({n:,} jobs)", many, 2 * few))
    return rows


def stop_rules() -> list[Row]:
    """Measure runs of the paper's cluster with a stop rule around a scheduler."""
    preset, rows = build_preset("paper"), []
    scenario = preset.draw(SEED)
    for scheduler in ("fifo-skip", "srtf-est", "pollux"):
        rule = EvalStop(build_policy(scheduler), KDecline(k=2))
        alone = run_time(scheduler, scenario.workload, preset.gpus, 5)
        ruled = best_of(partial(rule.simulate, scenario, preset.gpus, overhead=120), 5)
        rows.append(Row(f"k-decline around {scheduler}, beyond it", max(ruled - alone, 0), 0.060))
    made = rules(preset, COMPOSED, SEED)
    # 300 seeds in 3 minutes on 2 cores
    rows.append(
        Row(
            "4 schedulers with and without, a seed",
            best_of(partial(measure, preset, made, SEED), 3),
            1.2,
        )
    )
    return rows


def main() -> int:
    """Measure and report."""
    trace = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    broken = report("cluster simulator", speed(trace))
    broken |= report("stop rules on the paper's cluster", stop_rules())
    print(f"\nmemory, at most {BYTES_A_JOB} bytes a job (20,000 jobs)")
    for scheduler in ("fifo", "srtf"):
        found = bytes_a_job(scheduler)
        print(f"{scheduler:<44}{found:>9.0f} B{'' if found <= BYTES_A_JOB else '  BROKEN'}")
        broken |= found > BYTES_A_JOB
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
