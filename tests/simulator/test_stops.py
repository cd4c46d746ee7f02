"""EvalStop: what an alarm does, at once or late, known beforehand or found on the way."""

import dataclasses
import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenarios import FALLS_LATE, RISES, scenario
from test_against_naive import RULES, clusters

from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.stop_at import StopAt
from evalstop.errors import UserError
from evalstop.simulator import (
    POLICIES,
    ConservationError,
    Job,
    Truth,
    Workload,
    build_policy,
    simulate,
)
from evalstop.simulator.accounting import check_conservation
from evalstop.simulator.evalstop import EvalStop
from evalstop.simulator.plots import queue_length
from evalstop.simulator.presets import Scenario, build_preset, overlay
from evalstop.simulator.stoppers import STOPPERS, Oracle
from evalstop.simulator.stops import Reaction, Stops
from evalstop.simulator.worlds import build_world

NAMES = [policy.name for policy in POLICIES]
# A running job cannot lose its GPUs to another under these.
PATIENT = {"fifo", "fifo-skip", "sjf-est", "sjf-est-skip", "sjf-skip"}
# Those that learn nothing from a duration: neither told it nor shown losses on the way to it.
UNTOLD = sorted(set(NAMES) - {"srtf", "srsf", "sjf-skip", "loss-aware"})
# Those that preempt, but for queues that move waiting jobs to their tail after every pass: there
# the order among demoted jobs is of the policy's own making.
MOVERS = [
    name
    for name in RULES
    if build_policy(name).discipline == "preempt"
    and (not name.startswith(("las", "tiresias")) or "fifo" in name or "gittins" in name)
]
FIRST_DECLINE = KDecline(k=1)


def run(made, scheduler="fifo-skip", stopper=FIRST_DECLINE, gpus=4, threshold=None, **options):
    cluster = {k: options.pop(k) for k in ("overhead", "save_delay") if k in options}
    rule = EvalStop(build_policy(scheduler), stopper, threshold, **options)
    return rule.simulate(made, gpus, **cluster)


def test_a_stop_frees_the_gpus_at_once():
    # three jobs of 8 s on one set of GPUs; the first declines at its third eval, at 6 s
    found = run(scenario((0, 4, 8, FALLS_LATE), (1, 4, 8, RISES), (2, 4, 8, RISES)))
    assert found.outcomes == ["stopped", "finished", "finished"]
    assert found.ends == [6, 14, 22]
    assert found.alarms == {0: 6}
    assert found.stops[0] == (6, 6, 0, 0)
    assert found.jct.tolist() == [6, 13, 20]


def test_at_the_end_of_a_run_the_end_wins():
    declines_at_last = (0.1, 0.3, 0.9, 0.5)
    found = run(scenario((0, 4, 8, declines_at_last), (0, 4, 8, RISES)))
    assert found.outcomes == ["finished", "finished"]
    assert found.ends == [8, 16]
    assert found.alarms_at_last == {0}
    assert not found.alarms


@pytest.mark.parametrize("live", [False, True])
def test_a_job_of_no_work_only_finishes(live):
    found = run(scenario((0, 4, 0, FALLS_LATE), (0, 4, 4, RISES)), live=live)
    assert found.outcomes == ["finished", "finished"]
    assert found.alarms_at_last == {0}


def test_a_timed_stop_waits_for_no_eval():
    made = scenario((0, 4, 10, RISES), (0, 4, 10, FALLS_LATE))
    assert run(made, stopper=StopAt(0.65)).ends == [6.5, 13]
    assert run(made, stopper=STOPPERS.build("fixed-progress")).ends == [7.5, 15]
    late = run(made, stopper=StopAt(1.0))
    assert late.ends == [10, 20]
    assert late.alarms_at_last == {0, 1}
    assert run(made, stopper=StopAt(0.65), threshold=0.2).ends == [2, 4]


def test_the_oracle_stops_at_the_first_eval_after_the_peak():
    made = scenario((0, 4, 8, FALLS_LATE), (0, 4, 8, RISES))
    assert run(made, stopper=Oracle()).ends == [4, 12]
    made.population.truth.peak[0] = 0.51
    assert run(made, stopper=Oracle()).ends == [6, 14]
    made.population.truth.peak[0] = 1.0
    assert run(made, stopper=Oracle()).alarms_at_last == {0}


def test_only_the_types_that_are_named_may_be_stopped():
    made = scenario((0, 4, 8, FALLS_LATE), (0, 4, 8, FALLS_LATE))
    made.population.truth.kind[0] = "DPO"
    assert run(made).outcomes == ["finished", "stopped"]
    assert run(made, stop_types=("DPO",)).outcomes == ["stopped", "finished"]
    assert run(made, stop_types=()).outcomes == ["stopped", "stopped"]
    assert run(made, stop_types=("DPO",), live=True).outcomes == ["stopped", "finished"]


def test_a_person_comes_later_and_perhaps_too_late():
    made = scenario((0, 4, 8, FALLS_LATE), (0, 4, 80, FALLS_LATE), (0, 4, 8, RISES))
    found = run(made, reaction_delay=3)
    assert found.outcomes == ["finished", "stopped", "finished"]  # 6 + 3 s is after the end
    assert found.ends == [8, 71, 79]  # 8 + 60 + 3
    assert found.alarms == {0: 6, 1: 68}


def test_a_job_may_be_stopped_while_it_waits():
    # srtf: the first job has its alarm at 6 s, loses its GPUs at 7 s and is stopped at 9 s
    made = scenario((0, 4, 8, FALLS_LATE), (7, 4, 0.5, RISES), (7, 4, 0.75, RISES))
    found = run(made, "sjf-gpus", reaction_delay=3)
    assert found.outcomes == ["finished", "finished", "finished"]
    made = scenario((0, 4, 80, FALLS_LATE), (61, 2, 8, RISES))
    found = run(made, "sjf-gpus", reaction_delay=3, overhead=1)
    assert found.stops[0] == (63, 61, 1, 0)
    assert found.ends == [63, 69]
    assert found.stints.work.tolist() == [61, 0, 8]


def test_a_job_that_saves_is_stopped_when_it_has_saved():
    made = scenario((0, 4, 80, FALLS_LATE), (61, 2, 8, RISES))
    found = run(made, "sjf-gpus", reaction_delay=3, save_delay=10)
    assert found.stops[0] == (71, 61, 1, 0)
    assert found.ends == [71, 79]


def test_a_wrongly_stopped_job_comes_again():
    # stop-at .5 ends both at half; the healthy one is submitted again at 4 s, behind the third job
    made = scenario((0, 4, 8, RISES), (1, 4, 8, FALLS_LATE), (3, 4, 8, RISES))
    restart = run(made, stopper=StopAt(0.5), resubmit="restart")
    assert restart.ends == [4 + 4 + 4 + 8, 8, 4 + 4 + 4 + 8 + 8]
    assert restart.outcomes == ["finished", "stopped", "finished"]
    assert restart.stops[0] == (4, 4, 0, 8)
    resume = run(made, stopper=StopAt(0.5), resubmit="resume")
    assert resume.ends == [16, 8, 20]
    assert resume.starts == [0, 4, 8]
    assert resume.stints.work.tolist() == [4, 4, 4, 4, 4]


def test_a_second_attempt_pays_no_overhead_and_is_estimated_anew():
    made = scenario((0, 4, 8, RISES), (1, 4, 5, RISES))
    # resume: 4 s are left of the first by estimate, fewer than the 5 s of the second
    found = run(made, "sjf-est-skip", StopAt(0.5), resubmit="resume", overhead=100)
    assert found.ends == [8, 13]
    made = scenario((0, 4, 8, RISES), (0, 4, 5, RISES))
    found = run(made, "srtf", StopAt(0.5), resubmit="restart", overhead=100)
    assert found.ends == [2.5 + 5 + 4 + 8, 7.5]


def test_a_demoted_job_runs_where_nobody_else_wants_to():
    made = scenario((0, 4, 8, FALLS_LATE), (1, 4, 8, RISES), (20, 4, 8, RISES))
    found = run(made, "srtf", on_alarm="deprioritise")
    # 6 s, its alarm; behind the second until 14 s, then its last 2 s
    assert found.ends == [16, 14, 28]
    assert found.demoted == {0}
    assert found.outcomes == ["finished"] * 3
    found = run(made, "srtf", on_alarm="deprioritise", reaction_delay=1)
    assert found.ends == [16, 15, 28]
    for patient in PATIENT:
        assert run(made, patient, on_alarm="deprioritise").ends == [8, 16, 28]


# Every policy

DETECTORS = {
    "k-decline:k=2": None,
    "k-decline:k=1": None,
    "patience": 2,
    "drawdown": 0.1,
    "ewma-drawdown": 0.05,
    "mann-kendall": 1.0,
    "unimodal-glr": 3.0,
    "gao-fit": 0.5,
    "loss-plateau:eps=.1": None,
    "fixed-progress": None,
    "always": None,
}


@st.composite
def priced_clusters(draw):
    """A crowded cluster with ties, in time and in scores, and a run behind every job."""
    gpus, workload, unit = draw(clusters())
    world = build_world("paper:sigma=.2,n=5")
    made = overlay(workload, world, draw(st.integers(0, 999)), rlhf_share=0.8)
    runs = made.population.runs
    rounded = dataclasses.replace(runs, score=np.round(runs.score, 1))
    return gpus, Scenario(made.workload, dataclasses.replace(made.population, runs=rounded)), unit


REACTIONS = st.fixed_dictionaries(
    {
        "on_alarm": st.just("stop"),
        "reaction_delay": st.sampled_from([0, 0, 2, 7]),
        "resubmit": st.sampled_from(["never", "restart", "resume"]),
    }
) | st.fixed_dictionaries(
    {"on_alarm": st.just("deprioritise"), "reaction_delay": st.sampled_from([0, 3])}
)


@pytest.mark.parametrize("scheduler", NAMES)
@settings(max_examples=30)
@given(
    cluster=priced_clusters(),
    detector=st.sampled_from(sorted(DETECTORS)),
    reaction=REACTIONS,
    pauses=st.fixed_dictionaries(
        {"overhead": st.sampled_from([0, 1, 3]), "save_delay": st.sampled_from([0, 0, 2])}
    ),
)
def test_stops_known_beforehand_are_those_found_on_the_way(
    scheduler, cluster, detector, reaction, pauses
):
    gpus, made, unit = cluster
    options = {
        **{k: v if isinstance(v, str) else v * unit for k, v in reaction.items()},
        **{k: v * unit for k, v in pauses.items()},
    }
    stopper, threshold = STOPPERS.build(detector), DETECTORS[detector]
    planned, live = (
        run(made, scheduler, stopper, gpus, threshold, live=live, **options)
        for live in (False, True)
    )
    for field in ("ends", "preemptions", "alarms", "stops", "demoted", "alarms_at_last"):
        assert getattr(planned, field) == getattr(live, field)
    assert planned.interrupted == live.interrupted


@pytest.mark.parametrize("scheduler", UNTOLD)
@settings(max_examples=30)
@given(cluster=priced_clusters(), overhead=st.sampled_from([0, 2]))
def test_the_policy_underneath_decides_as_if_the_job_were_that_short(scheduler, cluster, overhead):
    """A policy that is told no durations cannot tell a stop from an end."""
    gpus, made, _ = cluster
    stopped = run(made, scheduler, gpus=gpus, overhead=overhead)
    rule = EvalStop(build_policy(scheduler), FIRST_DECLINE)
    stops = rule.stops(made)
    short = [
        dataclasses.replace(truth, duration=mark) if mark < truth.duration else truth
        for truth, mark in zip(made.workload.truths, stops.marks, strict=True)
    ]
    workload = dataclasses.replace(made.workload, truths=short)
    plain = simulate(workload, build_policy(scheduler), gpus, overhead=overhead)
    assert list(stopped.ends) == list(plain.ends)
    assert list(stopped.preemptions) == list(plain.preemptions)


def test_a_mark_that_rounding_has_left_behind_is_reached_at_once():
    # the first is preempted at .8 s exactly, with .3 s of work: more than the float .6 * .5
    half, quarter, tenth = Fraction(1, 2), Fraction(1, 4), Fraction(1, 10)
    jobs = [(3 * tenth, half, half), (3 * tenth, quarter, half), (8 * tenth, 0.45, 9 * tenth)]
    workload = Workload(
        [Job(str(i), submit, 1, estimate) for i, (submit, estimate, _) in enumerate(jobs)],
        [Truth(duration, 2.0) for *_, duration in jobs],
    )
    stops = Stops(workload, [0.6, 0.4, 0.2], Reaction(deprioritise=True))
    found = simulate(workload, build_policy("loss-aware"), 1, stops=stops)
    assert found.demoted == {0, 1, 2}
    assert max(found.ends) == pytest.approx(2.2)


class Demoting(naive.Rule):
    """A rule that puts a task behind all others from half of its work on."""

    discipline = "preempt"

    def __init__(self, rule, marked):
        self.rule, self.marked = rule, marked
        self.arrived, self.before, self.after = rule.arrived, rule.before, rule.after
        self.ended = rule.ended

    def mark(self, task):
        return Fraction(task.duration) / 2 if self.marked[task.index] else math.inf

    def key(self, task, now):
        demoted = self.mark(task) < task.duration and task.served(now) >= self.mark(task)
        return (demoted, self.rule.key(task, now))

    def moments(self, tasks, now):
        running = [t for t in tasks if t.state == naive.RUNNING]
        marks = [
            t.since + self.mark(t) - t.done
            for t in running
            if t.served(now) < self.mark(t) < t.duration
        ]
        return [*self.rule.moments(tasks, now), *marks]


@pytest.mark.parametrize("scheduler", MOVERS)
@settings(max_examples=40)
@given(
    cluster=clusters(),
    marked=st.lists(st.booleans(), min_size=14, max_size=14),
    overhead=st.sampled_from([0, 2]),
)
def test_demoted_jobs_stand_where_a_plain_sort_puts_them(scheduler, cluster, marked, overhead):
    gpus, workload, _ = cluster
    stops = Stops(workload, [math.inf] * len(workload), Reaction(deprioritise=True))
    stops.marks = [
        Fraction(t.duration) / 2 if m else math.inf
        for t, m in zip(workload.truths, marked, strict=False)
    ]
    found = simulate(workload, build_policy(scheduler), gpus, overhead=overhead, stops=stops)
    tasks = [
        naive.Task(i, j.submit, j.gpus, t.duration, j.estimate)
        for i, (j, t) in enumerate(zip(workload.jobs, workload.truths, strict=True))
    ]
    naive.simulate(tasks, gpus, Demoting(RULES[scheduler](workload), marked), overhead)
    assert list(found.ends) == [t.end for t in tasks]
    assert list(found.preemptions) == [t.preemptions for t in tasks]


def test_demotions_and_falls_of_one_moment_go_by_the_order_of_submission():
    # at 31 job 0 falls into the last queue, and job 2 both falls and is demoted
    jobs = [(14, 3, 12), (20, 1, 1), (20, 2, 22), (21, 1, 10)]
    workload = Workload(
        [Job(str(i), submit, gpus, 1) for i, (submit, gpus, _) in enumerate(jobs)],
        [Truth(duration, 2.0) for *_, duration in jobs],
    )
    stops = Stops(workload, [0.5, math.inf, 0.5, 0.5], Reaction(deprioritise=True))
    las = build_policy("las:requeue=fifo,thresholds=4,11")
    assert list(simulate(workload, las, 5, stops=stops).ends) == [32, 21, 43, 36]


@pytest.mark.parametrize("scheduler", NAMES)
def test_a_rule_that_stops_nobody_changes_nothing(scheduler):
    made = build_preset("paper:jobs=60,load=1.3").draw(3)
    plain = simulate(made.workload, build_policy(scheduler), 64, overhead=120)
    for stopper in ("never", "stop-at:progress=1"):
        found = run(made, scheduler, STOPPERS.build(stopper), 64, overhead=120)
        assert found.ends == plain.ends
        assert found.outcomes == ["finished"] * 60


def test_a_queue_that_has_been_waited_in_is_empty_in_the_end():
    made = scenario((0, 4, 8, RISES), (1, 4, 8, FALLS_LATE), (3, 4, 8, RISES))
    found = run(made, stopper=StopAt(0.5), resubmit="restart")
    times, waiting = queue_length(found)
    assert waiting.min() == 0
    assert waiting[-1] == 0
    assert waiting[np.searchsorted(times, 4, side="right") - 1] == 2  # one starts, one comes again


def test_nothing_that_a_rule_is_asked_with_refers_to_a_truth():
    made = build_preset("paper:jobs=20").draw(1)
    rule = EvalStop(build_policy("srtf-est"), FIRST_DECLINE)
    made.population.truth.peak[:] = np.nan  # only the oracle needs it
    assert np.isfinite(rule.alarms(made.population)).any()


# What is refused


def test_conservation_is_checked_with_stops():
    made = scenario((0, 4, 8, FALLS_LATE), (1, 4, 8, RISES))
    found = run(made)
    for wrong in (
        {"stops": {0: found.stops[0]._replace(work=5)}},
        {"stops": {0: found.stops[0]._replace(again=8)}},
        {"alarms": {0: 5}},
        {"stops": {}},
        {"ends": [7, 14]},
        {"speeds": [2, 1]},
    ):
        with pytest.raises(ConservationError):
            check_conservation(dataclasses.replace(found, **wrong))
    check_conservation(found)


def test_what_cannot_be():
    base = build_policy("fifo")
    with pytest.raises(UserError, match="no natural threshold"):
        EvalStop(base, STOPPERS.build("drawdown"))
    with pytest.raises(UserError, match="only a job that was stopped"):
        EvalStop(base, FIRST_DECLINE, on_alarm="deprioritise", resubmit="resume")
    with pytest.raises(UserError, match="on_alarm must be one of"):
        EvalStop(base, FIRST_DECLINE, on_alarm="shout")
    with pytest.raises(UserError, match="reaction_delay must be at least 0"):
        EvalStop(base, FIRST_DECLINE, reaction_delay=-1)
    with pytest.raises(UserError, match="did you mean 'stop-at'"):
        STOPPERS.build("stop-att")


def test_marks_are_exact_where_they_must_be():
    made = scenario((0, 1, 7, RISES), (0, 1, 7, RISES), (0, 1, 7, RISES))
    assert Stops(made.workload, [1.0, 0.5, math.inf]).marks == [7, 3.5, math.inf]
