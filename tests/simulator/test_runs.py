"""Properties of every run, and the accounting on runs worked out by hand."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_against_naive import RULES, clusters

from evalstop.errors import UserError
from evalstop.simulator import (
    ConservationError,
    Job,
    Policy,
    Truth,
    Workload,
    build_policy,
    load_warnings,
    simulate,
    summarise,
)
from evalstop.simulator.accounting import check_conservation
from evalstop.simulator.plots import plot_run, queue_length
from evalstop.simulator.report import COLUMNS, write_jobs


def workload(*rows):
    """Jobs of (submit, gpus, duration), estimates exact."""
    jobs = [Job(str(i), submit, gpus, work) for i, (submit, gpus, work) in enumerate(rows)]
    return Workload(jobs, [Truth(work) for _, _, work in rows])


@pytest.mark.parametrize("scheduler", RULES)
@settings(max_examples=15)
@given(cluster=clusters(), overhead=st.sampled_from([0, 2]), save=st.sampled_from([0, 1]))
def test_gpus_and_work_are_conserved(scheduler, cluster, overhead, save):
    gpus, jobs, _ = cluster
    run = simulate(jobs, build_policy(scheduler), gpus, overhead=overhead, save_delay=save)
    stints = run.stints
    for moment in {*stints.granted, *stints.released}:
        holds = (stints.granted <= moment) & (moment < stints.released)
        assert stints.gpus[holds].sum() <= gpus
    work = sum(j.gpus * t.duration for j, t in zip(jobs.jobs, jobs.truths, strict=True))
    assert summarise(run).work_gpu_hours == pytest.approx(float(work) / 3600)


@pytest.mark.parametrize("scheduler", RULES)
@settings(max_examples=15)
@given(
    gpus=st.integers(1, 9),
    submit=st.floats(-1e6, 1e6),
    duration=st.floats(0, 1e3),
    factor=st.floats(0.01, 100),
)
def test_a_job_alone_takes_its_duration(scheduler, gpus, submit, duration, factor):
    alone = Workload([Job("it", submit, gpus, duration * factor)], [Truth(duration)])
    run = simulate(alone, build_policy(scheduler), 9, overhead=50)
    assert run.starts == [submit]
    assert run.ends[0] == submit + duration
    assert run.preemptions == [0]


@pytest.mark.parametrize("scheduler", RULES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_times_drawn_as_floats_are_no_trouble(scheduler, seed):
    rng = np.random.default_rng(seed)
    n = 20
    submit = np.cumsum(rng.exponential(3, n)) + 1e6
    gpus, estimates = rng.integers(1, 5, n).tolist(), rng.gamma(2, 5, n).tolist()
    rows = zip(submit.tolist(), gpus, estimates, strict=True)
    jobs = [Job(str(i), *row) for i, row in enumerate(rows)]
    truths = [Truth(d) for d in rng.gamma(2, 5, n).tolist()]
    run = simulate(Workload(jobs, truths), build_policy(scheduler), 4, overhead=0.7)
    assert all(math.isfinite(end) for end in run.ends)


def test_two_runs_are_equal():
    rows = [(i % 7, 1 + i % 3, 5 + i % 11) for i in range(30)]
    for scheduler in RULES:
        first, second = (
            simulate(workload(*rows), build_policy(scheduler), 4, overhead=1, seed=3)
            for _ in range(2)
        )
        assert first.ends == second.ends
        assert first.interrupted == second.interrupted


def test_a_preemption_by_hand():
    """Job 0 runs 0-4, saves 4-5, waits; job 1 runs 5-8; job 0 resumes 8, pays 2, works 10-16."""
    run = simulate(
        workload((0, 2, 10), (4, 2, 3)), build_policy("srtf"), 2, overhead=2, save_delay=1
    )
    assert run.starts == [0, 5]
    assert run.ends == [16, 8]
    assert run.preemptions == [1, 0]
    assert [tuple(stint[:5]) for stint in run.interrupted] == [(0, 0, 0, 4, 5)]
    told = summarise(run)
    assert (told.jct_mean, told.jct_p50, told.makespan) == (10, 10, 16)
    assert told.wait_mean == pytest.approx((3 + 1) / 2)
    assert told.utilisation == 1
    assert told.work_gpu_hours * 3600 == pytest.approx(26)
    assert told.overhead_gpu_hours * 3600 == pytest.approx(2 * (1 + 2))
    assert [list(x) for x in queue_length(run)] == [[0, 4, 5, 8], [0, 1, 1, 0]]


def test_an_end_comes_before_an_arrival_and_a_decision_after_both():
    tenth = Fraction(1, 10)
    run = simulate(workload((0, 1, 3 * tenth), (3 * tenth, 1, 1), (tenth, 1, 2)), srtf(), 1)
    ends = dict(zip((j.id for j in run.workload.jobs), run.ends, strict=True))
    assert ends == {"0": 3 * tenth, "1": 13 * tenth, "2": 33 * tenth}


def srtf():
    return build_policy("srtf")


def test_offered_load_is_warned_about():
    def warned(gap):
        rows = [(gap * i, 1, 10) for i in range(101)]
        return load_warnings(simulate(workload(*rows), build_policy("fifo"), 1))

    assert "below 0.8" in warned(20)[0]
    assert "above 1" in warned(9)[0]
    assert warned(11) == []
    assert "all jobs arrive at once" in warned(0)[0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"ends": [16, 9]}, "more or less than its work"),
        ({"gpus": 1}, "more GPUs"),
        ({"preemptions": [0, 0]}, "do not add up"),
        ({"overhead": 1}, "overhead"),
        ({"ends": [16, math.nan]}, "never ended"),
        ({"granted": [4.5, 5]}, "twice at once"),
        ({"granted": [8, 3], "works_from": [10, 3], "ends": [16, 6]}, "before it was submitted"),
    ],
)
def test_a_run_that_does_not_add_up_is_an_error(changes, problem):
    run = simulate(
        workload((0, 2, 10), (4, 2, 3)), build_policy("srtf"), 2, overhead=2, save_delay=1
    )
    with pytest.raises(ConservationError, match=problem):
        check_conservation(dataclasses.replace(run, **changes))


class Stuck(Policy):
    """Gives nan."""

    name = "stuck"

    def key(self, job, now):
        return math.nan


def test_a_key_that_does_not_sort_is_an_error():
    with pytest.raises(UserError, match="scheduler stuck: the key of job 0 is nan"):
        simulate(workload((0, 1, 1), (0, 1, 1)), Stuck(), 1)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Workload([], []), "no jobs"),
        (lambda: Workload([Job("a", 0, 1, 1)], []), "1 job but 0 truths"),
        (lambda: workload((0, 0, 1)), "job 0: it needs at least 1 GPU"),
        (lambda: workload((0, 1, -1)), "job 0: duration and estimate"),
        (lambda: workload((math.inf, 1, 1)), "job 0: the submit time must be finite"),
        (lambda: simulate(workload((0, 65, 1)), srtf(), 32), "job 0: .* --scale-gpus 1/3"),
        (lambda: simulate(workload((0, 1, 1)), srtf(), 0), "at least 1 GPU"),
        (lambda: simulate(workload((0, 1, 1)), srtf(), 1, overhead=-1), "preemption overhead"),
        (lambda: simulate(workload((0, 1, 1)), srtf(), 1, save_delay=math.inf), "save delay"),
    ],
)
def test_bad_input_is_named(make, problem):
    with pytest.raises(UserError, match=problem):
        make()


def test_a_run_as_a_file_and_as_pictures(tmp_path):
    run = simulate(workload((0, 2, 10), (4, 2, 3)), srtf(), 2, overhead=2)
    write_jobs(run, tmp_path / "jobs.csv")
    assert (tmp_path / "jobs.csv").read_text().splitlines() == [
        ",".join(COLUMNS),
        "0,0,0,15,15,2,1,finished,false",
        "1,4,4,7,3,2,0,finished,false",
    ]
    for suffix, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        plot_run(run, tmp_path / f"run.{suffix}")
        assert (tmp_path / f"run.{suffix}").read_bytes().startswith(start)
    with pytest.raises(UserError, match="cannot be written"):
        plot_run(run, tmp_path / "run.doc")
    with pytest.raises(UserError, match="cannot be written"):
        write_jobs(run, tmp_path / "nowhere" / "jobs.csv")
