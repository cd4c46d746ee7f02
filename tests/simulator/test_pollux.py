"""Pollux: its law, a hand-worked allocation, the optimum by trying all, the price of a restart."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.errors import UserError
from evalstop.simulator import Elastic, Job, JobView, Truth, Workload, build_policy, simulate
from evalstop.simulator.policies.pollux import Pollux
from evalstop.simulator.presets import build_preset

# For these numbers the best batch of a job with more GPUs than it asked for is s = sqrt(n/n0)
# times as large, and its speed (2 s/(1 + s))^2; with fewer it is 2 n/(n0 + n).
EASY = "pollux:sync=.5,noise=1"


def views(*requests, submit=0):
    return [JobView(Job(str(i), submit, n, 1), i) for i, n in enumerate(requests)]


def allocate(policy, jobs, gpus, now=0):
    return policy.begin(gpus, ()).allocate(jobs, gpus, now)


def test_a_hand_worked_allocation():
    """Three new jobs that asked for 1, 1 and 4 of 8 GPUs; their fair share is 8/3.

    Speed on the fair share: 1.5386, 1.5386, .8. Over the speed on n GPUs, that is 1/speedup:

        n                   1       2       3       4
        first, second  1.5386  1.1210   .9570   .8655   falls by  .4177  .1639  .0916
        third               2     1.2   .9333      .8             .8     .2667  .1333

    Each has one GPU. The other five go where the fall is largest: third (.8), first (.4177), second
    (.4177), third (.2667), first (.1639; the second would gain as much and came later).
    """
    policy = build_policy(EASY)
    assert allocate(policy, views(1, 1, 4), 8) == [3, 2, 3]
    assert pytest.approx(policy.progress(8 / 3), abs=1e-4) == 1.5386
    assert policy.progress(2 / 3) == pytest.approx(0.8)
    assert policy.progress(4) == pytest.approx(16 / 9)


def goodput(policy, gpus, requested, batch):
    """Throughput times efficiency, with var and sqr in place of their ratio."""
    sqr, var = 2.0, 2.0 * policy.noise
    step = (1 - policy.sync) * batch * requested / gpus + policy.sync
    return batch / step * (var + sqr) / (var / batch + sqr) / batch


@given(
    gpus=st.integers(1, 64),
    requested=st.integers(1, 16),
    sync=st.floats(0.01, 0.9),
    noise=st.floats(0, 50),
)
def test_the_speed_is_that_of_the_best_batch(gpus, requested, sync, noise):
    policy = Pollux(sync=sync, noise=noise)
    batches = np.geomspace(1, 100, 4000)
    best = goodput(policy, gpus, requested, batches).max()
    assert policy.progress(gpus / requested) == pytest.approx(best, rel=1e-4)
    assert policy.progress(gpus / requested) >= best * (1 - 1e-12)


def test_a_job_runs_as_it_was_submitted_at_speed_1():
    assert Pollux().progress(1) == pytest.approx(1)


@given(
    requests=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    gpus=st.integers(1, 9),
    noise=st.sampled_from([0, 1, 9, 40]),
)
def test_of_all_allocations_none_is_better(requests, gpus, noise):
    policy = Pollux(sync=0.2, noise=noise)
    jobs = views(*requests)
    found = allocate(policy, jobs, gpus)
    assert sum(found) <= gpus
    if gpus < len(jobs):
        assert found == [1] * gpus + [0] * (len(jobs) - gpus)
        return

    def total(sizes):
        """Sum of 1/speedup, whose smallest value is the largest power mean with p = -1."""
        fair = gpus / len(jobs)
        return sum(
            policy.progress(fair / r) / policy.progress(n / r)
            for n, r in zip(sizes, requests, strict=True)
        )

    ranges = [range(1, min(gpus, 4 * r) + 1) for r in requests]
    best = min(total(s) for s in itertools.product(*ranges) if sum(s) <= gpus)
    assert total(found) == pytest.approx(best, rel=1e-9)


def test_a_change_must_be_worth_its_restart():
    """Alone on 2 GPUs, running on the one it asked for: 1/speedup 1.3726 there, 1 on both.

    At an age of T seconds, never restarted, a change is worth T/(T + 30) of that: more than 1.3726
    up to T = 80.5.
    """
    policy = build_policy(EASY)
    (job,) = jobs = views(1)
    job.running, job.gpus = True, 1
    assert allocate(policy, jobs, 2, now=80) == [1]
    assert allocate(policy, jobs, 2, now=81) == [2]
    # having been restarted once, (T - 30)/(T + 30): up to T = 191.05
    books = policy.begin(2, ())
    books.restarts[0] = 1
    assert books.allocate(jobs, 2, 191) == [1]
    assert books.restarts == {0: 1}
    assert books.allocate(jobs, 2, 192) == [2]
    assert books.restarts == {0: 2}


def test_a_change_may_be_worth_it_only_if_it_is_large():
    """Alone on 4 GPUs at an age of 60 s: 1/speedup 1.7778 now; changed, 1.9428, 1.6587, 1.5."""
    policy = build_policy(EASY)
    (job,) = jobs = views(1)
    job.running, job.gpus = True, 1
    assert allocate(policy, jobs, 4, now=60) == [4]
    assert allocate(policy, jobs, 2, now=60) == [1]


def test_a_hand_worked_run():
    """Two jobs that asked for one of two GPUs each; alone, one runs at 1.372583 on both."""
    workload = Workload([Job("a", 0, 1, 600), Job("b", 30, 1, 240)], [Truth(600), Truth(240)])
    run = simulate(workload, build_policy(EASY), 2, overhead=1000)
    fast = (2 * math.sqrt(2) / (1 + math.sqrt(2))) ** 2
    # a: both GPUs at once; one at the round of 60 s, which costs 30 s; b ends at 300 s, at a round,
    # and a has both again, from 330 s on
    left = 600 - 60 * fast - 210
    assert run.ends == pytest.approx([330 + left / fast, 300])
    assert run.stints.gpus.tolist() == [2, 1, 2, 1]
    assert run.stints.granted.tolist() == [0, 60, 300, 60]
    assert run.stints.works_from.tolist() == [0, 90, 330, 60]
    assert run.preemptions == [2, 0]
    assert run.overhead == 30


def test_rounds_are_held_on_the_minute():
    made = build_preset("paper:jobs=80,load=1.3").draw(5)
    run = simulate(made.workload, build_policy("pollux"), 64)
    assert set(run.stints.granted % 60) == {0}
    assert run.stints.in_use()[1].max() == 64
    most = 4 * np.array([job.gpus for job in made.workload.jobs])
    assert (run.stints.gpus <= most[run.stints.job]).all()


def test_a_job_that_saves_waits_for_a_round():
    workload = Workload([Job("a", 0, 1, 600), Job("b", 30, 1, 60)], [Truth(600), Truth(60)])
    run = simulate(workload, build_policy(EASY), 2, save_delay=10)
    # at 60 s a gives both GPUs back, which takes 10 s; at 120 s both jobs get one
    assert run.stints.granted[:2].tolist() == [0, 120]
    assert run.ends[1] == 180


class TakesAll(Elastic):
    """Gives every job all GPUs."""

    every = 1.0

    def allocate(self, jobs, gpus, now):
        return [gpus] * len(jobs)

    def speed(self, job, gpus):
        return 1.0


def test_an_elastic_policy_must_keep_to_the_gpus_there_are():
    jobs = Workload([Job("a", 0, 1, 5), Job("b", 0, 1, 5)], [Truth(5), Truth(5)])
    with pytest.raises(UserError, match="no more than there are"):
        simulate(jobs, TakesAll(), 2)


def test_an_elastic_policy_says_so(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from evalstop.simulator import Policy\n"
        "class Mine(Policy):\n    discipline = 'elastic'\n"
        "class Odd(Policy):\n    discipline = 'both'\n"
    )
    with pytest.raises(UserError, match="a subclass of"):
        build_policy(f"{path}:Mine", outside=True)
    with pytest.raises(UserError, match="block, skip, preempt, elastic"):
        build_policy(f"{path}:Odd", outside=True)
