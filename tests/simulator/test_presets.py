"""Presets: the moments of the paper's cluster, its variants, and worlds laid over a trace."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from evalstop.cli import main
from evalstop.errors import UserError
from evalstop.simulator import Job, Truth, Workload, build_policy, simulate
from evalstop.simulator.presets import PRESETS, build_preset, overlay
from evalstop.simulator.worlds import WORLDS, build_world

GOLDEN = json.loads((Path(__file__).parents[1] / "data/golden/paper_preset.json").read_text())
C1 = GOLDEN["cluster_C1"]
KINDS = ("RLHF", "LoRA", "DPO")


def facts(scenario):
    """Arrays of what the jobs are."""
    jobs, truths = scenario.workload.jobs, scenario.workload.truths
    return {
        "kind": np.array([j.type for j in jobs]),
        "submit": np.array([j.submit for j in jobs]),
        "gpus": np.array([j.gpus for j in jobs]),
        "estimate": np.array([j.estimate for j in jobs]),
        "hours": np.array([t.duration for t in truths]) / 3600,
    }


@pytest.fixture(scope="module")
def many():
    return build_preset("paper:jobs=60000").draw(1)


def test_moments_of_the_cluster(many):
    jobs = facts(many)
    n = len(jobs["kind"])
    for kind, key in zip(KINDS, ("rlhf_share", "lora_share", "dpo_share"), strict=True):
        assert (jobs["kind"] == kind).mean() == pytest.approx(C1[key], abs=4 * 0.5 / np.sqrt(n))
        rows = jobs["kind"] == kind
        log_hours = np.log(jobs["hours"][rows] / C1["median_hours"][kind])
        assert abs(log_hours.mean()) < 4 * 0.9 / np.sqrt(rows.sum())
        assert log_hours.std() == pytest.approx(C1["lognormal_sd"], rel=0.03)
        demands, counts = np.unique(jobs["gpus"][rows], return_counts=True)
        assert demands.tolist() == C1["gpu_demand_uniform_over"][kind]
        assert counts / rows.sum() == pytest.approx(
            np.full(len(demands), 1 / len(demands)), rel=0.1
        )
    error = np.log(jobs["estimate"] / 3600 / jobs["hours"])
    assert abs(error.mean()) < 4 * 0.3 / np.sqrt(n)
    assert error.std() == pytest.approx(C1["estimate_lognormal_sd"], rel=0.03)
    truth = many.population.truth
    assert truth.hacking[truth.kind == "RLHF"].mean() == pytest.approx(0.6, abs=0.01)


def test_arrivals_are_poisson_at_the_offered_load(many):
    preset, jobs = build_preset("paper"), facts(many)
    work = jobs["gpus"] * jobs["hours"]
    # E[gpu * hours] = (.8 * 14/3 * 4 + .1 * 3/2 * 2 + .1 * 3 * 3) e^(.9^2/2)
    assert preset.expected_gpu_seconds() / 3600 == pytest.approx(24.1887, abs=1e-3)
    assert work.mean() == pytest.approx(24.1887, abs=4 * work.std() / np.sqrt(len(work)))
    gaps = np.diff(jobs["submit"], prepend=0) / 3600
    mean = 24.1887 / (C1["offered_load"] * C1["gpus"])
    assert gaps.mean() == pytest.approx(mean, rel=0.02)
    assert gaps.std() == pytest.approx(mean, rel=0.03)
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 0.02
    assert many.workload.load(64) == pytest.approx(1.07, rel=0.03)


@pytest.mark.parametrize("load", [0.5, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_any_share_and_load(share, load):
    preset = build_preset("paper", {"jobs": "30000", "load": str(load), "rlhf_share": str(share)})
    scenario = preset.draw(2)
    jobs = facts(scenario)
    assert scenario.workload.load(64) == pytest.approx(load, rel=0.05)
    assert (jobs["kind"] == "RLHF").mean() == pytest.approx(share, abs=0.02)
    assert (jobs["kind"] == "LoRA").mean() == pytest.approx((1 - share) / 2, abs=0.02)


def test_the_base_schedulers_take_as_long_as_the_golden_ones():
    preset = build_preset("paper")
    golden = GOLDEN["system_expected_300_fresh_seeds"]["C1"]
    for name, policy in (("FIFO", "fifo-skip"), ("SJF-Est", "sjf-est-skip")):
        hours = []
        for seed in range(60):
            run = simulate(preset.draw(seed).workload, build_policy(policy), preset.gpus)
            hours.append(
                np.mean([e - j.submit for e, j in zip(run.ends, run.workload.jobs, strict=True)])
                / 3600
            )
        se = np.std(hours) / np.sqrt(len(hours)) * np.sqrt(1 + 60 / 300)
        assert abs(np.mean(hours) - golden[name]["jct_base_h"]) < 4 * se


def test_one_seed_gives_the_same_jobs_in_every_world_and_share():
    preset = build_preset("paper:jobs=200")
    first, again = preset.draw(3), preset.draw(3)
    assert first.workload == again.workload
    assert np.array_equal(first.population.runs.score, again.population.runs.score)
    assert facts(preset.draw(4))["submit"][0] != facts(first)["submit"][0]
    others = [preset.draw(3, world()) for world in WORLDS]
    others.append(preset.draw(3, build_world("paper:hacking=.2")))
    for other in others:
        assert all(np.array_equal(a, facts(other)[k]) for k, a in facts(first).items())
    fewer = others[-1].population.truth.hacking
    assert (first.population.truth.hacking | ~fewer).all()  # a smaller share turns some healthy
    assert fewer.sum() < first.population.truth.hacking.sum()


def test_jobs_and_runs_belong_together():
    scenario = build_preset("paper:jobs=300,world=real-noise").draw(5)
    jobs, truths = scenario.workload.jobs, scenario.workload.truths
    runs, truth = scenario.population.runs, scenario.population.truth
    assert len(jobs) == len(runs) == 300
    for i, (job, hidden) in enumerate(zip(jobs, truths, strict=True)):
        assert job.type == truth.kind[i]
        assert hidden.loss_rate == truth.loss_rate[i]
        assert job.evals == tuple(runs.progress[i, : runs.n_evals[i]])
    assert [j.submit for j in jobs] == sorted(j.submit for j in jobs)
    assert [j.id for j in jobs] == [str(i) for i in range(300)]


def test_variants():
    assert [p.name for p in PRESETS] == ["paper", "paper-n6", "paper-head-of-line"]
    paper = build_preset("paper")
    changed = {
        name: {
            field.name
            for field in dataclasses.fields(paper)
            if getattr(build_preset(name), field.name) != getattr(paper, field.name)
        }
        for name in ("paper-n6", "paper-head-of-line")
    }
    assert changed == {"paper-n6": {"world"}, "paper-head-of-line": {"load", "estimate_sd"}}
    assert build_preset("paper-n6").draw(6).population.runs.score.shape == (500, 6)
    assert paper.overhead / 3600 == pytest.approx(C1["preemption_overhead_hours"], abs=1e-5)


def trace(types):
    jobs = [Job(f"j{i}", 10 * i, 1 + i % 4, 100, type=t) for i, t in enumerate(types)]
    return Workload(jobs, [Truth(90 + i) for i in range(len(jobs))], ("read so",))


def test_a_world_over_a_trace():
    base = trace([""] * 3000)
    scenario = overlay(base, build_world("paper:hacking=.5"), seed=7, rlhf_share=0.6)
    for old, new in zip(base.jobs, scenario.workload.jobs, strict=True):
        assert dataclasses.replace(new, type="", evals=()) == old
    assert [t.duration for t in scenario.workload.truths] == [t.duration for t in base.truths]
    truth = scenario.population.truth
    assert (truth.kind == "RLHF").mean() == pytest.approx(0.6, abs=0.04)
    assert truth.hacking.mean() == pytest.approx(0.3, abs=0.04)
    assert scenario.workload.notes == ("read so",)


def test_a_world_over_a_trace_with_types():
    types = ["RLHF", "LoRA", "DPO", "RLHF"] * 20
    scenario = overlay(trace(types), build_world("paper"), seed=8)
    assert scenario.population.truth.kind.tolist() == types
    with pytest.raises(UserError, match=r"job j1: its type is 'Eval'.*--rlhf-share"):
        overlay(trace(["RLHF", "Eval"]), build_world("paper"), seed=8)
    with pytest.raises(UserError, match="rlhf-share: it must be between 0 and 1, got 2"):
        overlay(trace(types), build_world("paper"), seed=8, rlhf_share=2)


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("papr", "there is no preset 'papr', did you mean 'paper'"),
        ("paper:load=0", "load must be at least 0.001"),
        ("paper:rlhf_share=1.2", "rlhf_share must be at most 1"),
        ("paper:gpus=4", "gpus must be at least 8"),
        ("paper:jobs=0", "jobs must be at least 1"),
    ],
)
def test_wrong_settings_get_one_clear_line(spec, match):
    with pytest.raises(UserError, match=match):
        build_preset(spec)


def test_the_command_lists_worlds_and_presets(capsys):
    assert main(["presets"]) == 0
    told = capsys.readouterr()
    assert all(member.name in told.out for member in (*WORLDS, *PRESETS))
    assert "fitted, not disclosed by the authors" in told.out
    assert "fitted, not disclosed by the authors" in told.err
    assert main(["presets", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    kinds = [(m["kind"], m["name"]) for m in listed]
    assert kinds == [("world", w.name) for w in WORLDS] + [("preset", p.name) for p in PRESETS]
    for member in listed:
        if member["name"].startswith("paper"):
            assert "fitted, not disclosed by the authors" in member["description"]
    paper = next(m for m in listed if (m["kind"], m["name"]) == ("world", "paper"))
    assert paper["settings"]["sigma"]["default"] == 0.03
    assert paper["settings"]["peak"]["default"] == [0.55, 0.75]
