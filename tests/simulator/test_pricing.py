"""What stops are worth, worked by hand; the same numbers on the paper's cluster by another way."""

import csv
import math

import numpy as np
import pytest
from scenarios import FALLS_LATE, RISES, scenario

from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.simulator import Job, Truth, Workload, build_policy, simulate, summarise
from evalstop.simulator.accounting import fairness, rho
from evalstop.simulator.evalstop import EvalStop
from evalstop.simulator.presets import build_preset
from evalstop.simulator.pricing import Bill, Gain, gain, settle
from evalstop.simulator.report import write_jobs

STUMBLES = (0.5, 0.3, 0.6, 0.9)
"""Healthy, and declines at its second eval."""

# On 4 GPUs, in hours, the first alone, then the other two side by side. Never stopped: 8, 16, 16 h.
MADE = scenario(
    (0, 4, 8, FALLS_LATE),
    (0, 2, 8, STUMBLES),
    (0, 2, 8, RISES),
    hours=3600,
    tenant=("red", "blue"),
)
TRUTH = MADE.population.truth


def stopped(scheduler="fifo-skip", **options):
    return EvalStop(build_policy(scheduler), KDecline(k=1), **options).simulate(MADE, 4)


def base(scheduler="fifo-skip"):
    return simulate(MADE.workload, build_policy(scheduler), 4)


def test_the_bill_of_a_run():
    # the first is stopped at 6 h, 2 h after its peak; the second at half of its 8 h; the third ends
    run = stopped()
    assert run.ends == [6 * 3600, 10 * 3600, 14 * 3600]
    assert settle(run, TRUTH) == Bill(
        stopped=2,
        wrongly_stopped=1,
        resubmitted=0,
        demoted=0,
        alarms_at_last=0,
        waste_gpu_hours=2 * 4,
        destroyed_gpu_hours=4 * 2,
        undone_gpu_hours=4 * 2,
        overhead_gpu_hours=0,
        total_gpu_hours=24 + 8 + 16,
    )
    assert settle(run, TRUTH).cost(wrong_stop=10) == 8 + 10
    assert settle(base(), TRUTH).cost(wrong_stop=10) == 16


def test_what_was_gained():
    assert gain(base(), stopped(), TRUTH) == Gain(
        jct=pytest.approx(1 - 10 / (40 / 3)),
        jct_p95=pytest.approx(1 - 13.6 / 16),
        jct_p99=pytest.approx(1 - 13.92 / 16),
        jct_matched=pytest.approx(1 - 14 / 16),
        waste=pytest.approx(0.5),
        gpu_time=pytest.approx(1 - 48 / 64),
    )


def test_the_bill_of_a_second_attempt():
    restart = settle(stopped(resubmit="restart"), TRUTH)  # the second from 10 to 18 h
    assert (restart.resubmitted, restart.wrongly_stopped, restart.stopped) == (1, 1, 2)
    assert (restart.destroyed_gpu_hours, restart.undone_gpu_hours) == (8, 0)
    assert restart.total_gpu_hours == 24 + 8 + 16 + 16
    resume = settle(stopped(resubmit="resume"), TRUTH)
    assert (resume.destroyed_gpu_hours, resume.undone_gpu_hours) == (0, 0)
    assert resume.total_gpu_hours == 24 + 16 + 16


def test_all_the_work_of_a_preempted_job_is_destroyed():
    # preempted after 1 h by a job of fewer GPUs, stopped after 4 h of work
    made = scenario((0, 4, 8, STUMBLES), (1, 2, 1, RISES), hours=3600)
    run = EvalStop(build_policy("sjf-gpus"), KDecline(k=1)).simulate(made, 4)
    assert run.stops[0] == (5 * 3600, 4 * 3600, 1, 0)
    bill = settle(run, made.population.truth)
    assert (bill.destroyed_gpu_hours, bill.undone_gpu_hours) == (16, 16)


def test_the_bill_of_a_demotion_and_of_a_late_person():
    run = stopped("srtf", on_alarm="deprioritise")
    bill = settle(run, TRUTH)
    assert (bill.demoted, bill.stopped) == (2, 0)
    assert bill.waste_gpu_hours == 16
    # only the third job is as it was
    third = (base("srtf").jct[2], run.jct[2])
    assert gain(base("srtf"), run, TRUTH).jct_matched == pytest.approx(1 - third[1] / third[0])
    late = settle(stopped(reaction_delay=3600.0), TRUTH)
    assert late.waste_gpu_hours == 3 * 4


def test_fairness_is_over_all_the_work_that_a_job_was_given():
    assert rho(stopped()).tolist() == [1, 10 / 4, 14 / 8]
    restart = stopped(resubmit="restart")
    assert rho(restart).tolist() == [1, 18 / 12, 14 / 8]
    assert fairness(restart) == {
        "blue": (1, 18 * 3600, 1.5),
        "red": (2, 10 * 3600, (1 + 14 / 8) / 2),
    }
    assert summarise(restart).rho_mean == pytest.approx((1 + 1.5 + 1.75) / 3)


def test_a_job_of_no_work_has_no_fairness():
    run = simulate(Workload([Job("a", 0, 1, 0)], [Truth(0)]), build_policy("fifo"), 1)
    assert math.isnan(summarise(run).rho_mean)
    assert math.isnan(fairness(run)[""].rho_mean)


def test_the_file_of_a_run(tmp_path):
    made = scenario((0, 4, 8, FALLS_LATE), (0, 4, 8, (0.1, 0.5, 0.6, 0.2)))
    run = EvalStop(build_policy("fifo"), KDecline(k=1)).simulate(made, 4)
    write_jobs(run, tmp_path / "jobs.csv")
    with (tmp_path / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["outcome"], r["alarm_at_last"]) for r in rows] == [
        ("stopped", "false"),
        ("finished", "true"),
    ]
    assert [float(r["end_time"]) for r in rows] == [6, 14]


@pytest.mark.parametrize("scheduler", ["srtf-est", "tiresias", "pollux"])
def test_waste_by_another_way(scheduler):
    """GPU-time after the peak, job by job and stint by stint."""
    made = build_preset("paper:jobs=60,load=1.3").draw(2)
    truth = made.population.truth
    rule = EvalStop(build_policy(scheduler), KDecline(k=2))
    run = rule.simulate(made, 64, overhead=120)
    waste, done, s = 0.0, np.zeros(60), run.stints
    for row in range(len(s.job)):
        job, seconds = s.job[row], s.stopped[row] - s.works_from[row]
        peak = truth.peak[job] * made.workload.truths[job].duration
        before = min(max((peak - done[job]) / s.speed[row], 0), seconds)
        waste += s.gpus[row] * (seconds - before) if truth.hacking[job] else 0
        done[job] += seconds * s.speed[row]
    bill = settle(run, truth)
    assert bill.waste_gpu_hours == pytest.approx(waste / 3600)
    assert 0 < bill.waste_gpu_hours < settle(rule_free(made, scheduler), truth).waste_gpu_hours
    held = (s.gpus * (s.released - s.granted)).sum()
    assert bill.total_gpu_hours == pytest.approx(held / 3600)


def rule_free(made, scheduler):
    return simulate(made.workload, build_policy(scheduler), 64, overhead=120)
