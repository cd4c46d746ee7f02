"""What each policy states in its first line, on runs small enough to follow."""

import math
from itertools import pairwise

import numpy as np
import pytest

from evalstop.errors import UserError
from evalstop.simulator import POLICIES, Job, Truth, Workload, build_policy, simulate
from evalstop.simulator.losses import LoggingJob, LossLog
from evalstop.simulator.policies.loss_fit import predicted_drop
from evalstop.simulator.policies.tiresias import Past


def ends(scheduler, gpus, *rows, **options):
    """End times of jobs (submit, gpus, duration[, estimate])."""
    jobs = [Job(str(i), r[0], r[1], r[3] if len(r) > 3 else r[2]) for i, r in enumerate(rows)]
    run = simulate(
        Workload(jobs, [Truth(r[2]) for r in rows]), build_policy(scheduler), gpus, **options
    )
    by_id = dict(zip((j.id for j in run.workload.jobs), run.ends, strict=True))
    return [by_id[str(i)] for i in range(len(rows))]


def test_every_policy_has_a_file_a_name_and_a_first_line():
    names = [policy.name for policy in POLICIES]
    assert len({*names}) == len(POLICIES)
    assert len({policy.__module__ for policy in POLICIES}) == len(POLICIES)
    for policy in POLICIES:
        assert policy.__doc__.splitlines()[0].endswith(".")


def test_a_head_of_line_that_does_not_fit_blocks_or_is_skipped():
    rows = [(0, 3, 10), (1, 4, 10), (2, 1, 5)]
    assert ends("fifo", 4, *rows) == [10, 20, 25]
    assert ends("fifo-skip", 4, *rows) == [10, 20, 7]


def test_an_estimate_orders_jobs_and_the_truth_ends_them():
    rows = [(0, 1, 10), (1, 1, 5, 9), (2, 1, 8, 4)]
    assert ends("sjf-est", 1, *rows) == [10, 23, 18]
    assert ends("sjf-est-skip", 1, *rows) == [10, 23, 18]
    assert ends("sjf-skip", 1, *rows) == [10, 15, 23]


def test_equal_keys_run_in_order_of_submission():
    rows = [(0, 1, 4), (0, 1, 4), (0, 1, 4)]
    for scheduler in ("fifo", "sjf-skip", "srtf", "srsf", "sjf-gpus", "srtf-est", "las"):
        assert ends(scheduler, 1, *rows) == [4, 8, 12]


def test_rows_of_a_trace_need_not_be_in_order():
    assert ends("fifo", 1, (5, 1, 4), (0, 1, 6), (0, 1, 1)) == [11, 6, 7]


def test_gpu_time_and_time_rank_differently():
    rows = [(0, 4, 10), (1, 1, 20), (1, 4, 6)]
    assert ends("srtf", 4, *rows) == [16, 36, 7]
    assert ends("srsf", 4, *rows) == [36, 21, 27]
    assert ends("sjf-gpus", 4, *rows) == [30, 21, 36]


def test_a_job_at_the_end_of_its_estimate_keeps_its_place_or_is_guessed_anew():
    rows = [(0, 1, 100, 10), (11, 1, 8)]
    assert ends("srtf-est", 1, *rows) == [100, 108]
    assert ends("srtf-est:overrun=reestimate", 1, *rows) == [108, 19]


def test_a_job_sinks_when_it_reaches_a_limit():
    rows = [(0, 1, 100), (5, 1, 20)]
    assert ends("las:thresholds=10,30", 1, *rows) == [120, 50]  # 10 + 10, then in turn by arrival
    assert ends("las:thresholds=10,30,requeue=fifo", 1, *rows) == [120, 50]
    assert ends("tiresias:thresholds=20,200", 2, (0, 2, 100), (5, 2, 10)) == [110, 20]


def test_a_job_that_waits_long_enough_is_promoted():
    rows = [(0, 1, 20), *((10 * i, 1, 10) for i in range(1, 8))]
    assert ends("las:thresholds=10", 1, *rows)[0] == 90
    assert ends("las:thresholds=10,promote=2", 1, *rows)[0] < 90


def test_the_gittins_rank_is_chance_over_expected_service():
    sizes = sorted(np.random.default_rng(1).exponential(10, 400).tolist())
    past = Past(sizes, delta=5)
    for attained in (0, 3, 12.5, 40):
        longer = [s for s in sizes if s > attained]
        chance = sum(s <= attained + 5 for s in longer) / len(longer)
        expected = sum(min(s - attained, 5) for s in longer) / len(longer)
        assert past.rank(attained) == pytest.approx(chance / expected)
    assert past.rank(10**6) == 0


def test_a_fit_predicts_the_next_drop():
    for curve in (
        [0.3 + math.exp(-k / 8) for k in range(30)],
        [0.3 + 1 / (0.02 * k * k + 0.3 * k + 1) for k in range(30)],
    ):
        largest = max(a - b for a, b in pairwise(curve))
        for seen in (6, 12, 24):
            true = (curve[seen - 1] - curve[seen]) / largest
            assert predicted_drop(curve[:seen]) == pytest.approx(true, abs=0.02)
    assert predicted_drop([]) == predicted_drop([1.0, 0.8]) == 1
    assert predicted_drop([1.0, 1.0, 1.0, 1.0, 1.0]) == 1
    assert predicted_drop([1.0, 0.5, *[0.5] * 20]) < 0.01


def test_losses_are_logged_by_work_done_and_not_by_progress():
    jobs = [Job("short", 0, 1, estimate=200), Job("long", 0, 1, estimate=200)]
    log = LossLog([Truth(100, 4.0), Truth(1000, 40.0)], seed=0)
    for order, job in enumerate(jobs):
        view = LoggingJob(job, order)
        log.update(view, 50)
        assert view.losses == []
        view.running, view.since = True, 10
        log.update(view, 55)  # 45 seconds of work, a loss every 10
        assert len(view.losses) == 5
        expected = [0.3 + math.exp(-0.04 * 10 * k) for k in range(5)]
        assert view.losses == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("scheduler", ["loss-aware", "loss-aware:rate=given"])
def test_loss_aware_takes_gpus_from_flat_curves(scheduler):
    """At 500 the first curve is flatter than a new one, and at 610 flatter than the second."""
    assert ends(scheduler, 1, (0, 1, 1000), (500, 1, 1000), (600, 1, 10)) == [2010, 1510, 610]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("fifoo", "did you mean 'fifo'"),
        ("srtf-est:overrun=no", "overrun must be one of floor, reestimate"),
        ("las:thresholds=10,5", "thresholds must be positive and increase"),
        ("las:thresholds=0,5", "thresholds must be positive and increase"),
        ("tiresias:rank=fast", "rank must be one of"),
        ("fifo:skip=yes", "there is no setting 'skip'"),
        ("mine.py:Mine", "a file is run only when named on the command line"),
    ],
)
def test_bad_specs_are_named(spec, problem):
    with pytest.raises(UserError, match=problem):
        build_policy(spec)
