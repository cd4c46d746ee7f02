"""Every policy decides as a plain re-sort of all jobs at every moment would."""

from fractions import Fraction

import naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstop.simulator import Job, Truth, Workload, build_policy, simulate

LIMITS = "4,11"

RULES = {
    "fifo": lambda w: naive.Fifo("block"),
    "fifo-skip": lambda w: naive.Fifo("skip"),
    "sjf-est": lambda w: naive.Sjf("block", "estimate"),
    "sjf-est-skip": lambda w: naive.Sjf("skip", "estimate"),
    "sjf-skip": lambda w: naive.Sjf("skip", "duration"),
    "sjf-gpus": lambda w: naive.FewestGpus(),
    "srtf": lambda w: naive.Remaining(per_gpu=False),
    "srsf": lambda w: naive.Remaining(per_gpu=True),
    "srtf-est": lambda w: naive.SrtfEst(),
    "srtf-est:overrun=reestimate": lambda w: naive.SrtfReestimate(),
    "loss-aware:rate=given": lambda w: naive.GivenRates(w.truths),
    "loss-aware": lambda w: naive.FittedRates(w.truths, w.jobs, 0),
    f"las:thresholds={LIMITS}": lambda w: naive.Feedback((4, 11), False, "tail", 0),
    f"las:requeue=fifo,thresholds={LIMITS}": lambda w: naive.Feedback((4, 11), False, "fifo", 0),
    f"las:promote=2,thresholds={LIMITS}": lambda w: naive.Feedback((4, 11), False, "tail", 2),
    "tiresias:thresholds=7,30,60": lambda w: naive.Feedback((7, 30, 60), True, "tail", 0),
    "tiresias:requeue=fifo,promote=1,thresholds=7,30": lambda w: naive.Feedback(
        (7, 30), True, "fifo", 1
    ),
    "tiresias:rank=gittins,delta=5,thresholds=12,40": lambda w: naive.Feedback(
        (12, 40), True, "fifo", 0, delta=5
    ),
}


@st.composite
def clusters(draw):
    """A cluster and a crowded workload with ties, gaps of zero and jobs of any size."""
    gpus = draw(st.integers(1, 8))
    unit = draw(st.sampled_from([1, Fraction(1, 10), 7]))
    jobs, truths = [], []
    for i in range(draw(st.integers(1, 14))):
        duration = draw(st.integers(0, 25)) * unit
        estimate = max(duration, unit) * draw(st.sampled_from([1, 2, Fraction(1, 2)]))
        submit = draw(st.integers(0, 30)) * unit
        jobs.append(Job(str(i), submit, draw(st.integers(1, gpus)), estimate))
        truths.append(Truth(duration, loss_rate=draw(st.sampled_from([2.0, 3.5, 6.0]))))
    return gpus, Workload(jobs, truths), unit


def check(cluster, scheduler, overhead, save_delay):
    gpus, workload, unit = cluster
    run = simulate(
        workload,
        build_policy(scheduler),
        gpus,
        overhead=overhead * unit,
        save_delay=save_delay * unit,
    )
    tasks = [
        naive.Task(i, j.submit, j.gpus, t.duration, j.estimate)
        for i, (j, t) in enumerate(zip(workload.jobs, workload.truths, strict=True))
    ]
    naive.simulate(tasks, gpus, RULES[scheduler](workload), overhead * unit, save_delay * unit)
    assert list(run.starts) == [t.start for t in tasks]
    assert list(run.ends) == [t.end for t in tasks]
    assert list(run.preemptions) == [t.preemptions for t in tasks]


@pytest.mark.parametrize("scheduler", RULES)
@settings(max_examples=60)
@given(cluster=clusters(), overhead=st.sampled_from([0, 0, 1, 3]))
def test_every_job_starts_and_ends_as_in_the_plain_simulator(scheduler, cluster, overhead):
    check(cluster, scheduler, overhead, 0)


@pytest.mark.parametrize("scheduler", ["srtf", "srsf", "sjf-gpus", "loss-aware:rate=given"])
@settings(max_examples=40)
@given(cluster=clusters(), overhead=st.sampled_from([0, 2]), save_delay=st.sampled_from([1, 4]))
def test_a_preempted_job_holds_its_gpus_while_it_saves(scheduler, cluster, overhead, save_delay):
    check(cluster, scheduler, overhead, save_delay)
