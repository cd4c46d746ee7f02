"""Finish times of other simulators, job by job (Tiresias and Alibaba PAI ran on these traces)."""

import csv
import json
from pathlib import Path

import pytest

from evalstop.simulator import Job, Truth, Workload, build_policy, simulate, summarise

DATA = Path(__file__).parents[1] / "data" / "simulator"
GPUS = {"micro8": 4, "synth300": 64}
PREEMPTIONS = {
    ("micro8", "srtf"): 10,
    ("micro8", "srsf"): 8,
    ("synth300", "srtf"): 173,
    ("synth300", "srsf"): 100,
    ("synth300", "las"): 310,
    ("synth300", "sjf-gpus"): 49,
}
EXACT = ("fifo", "fifo-skip", "sjf-skip", "sjf-gpus", "srtf", "srsf")


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(rows, gpus, scheduler, options=None):
    jobs, truths = [], []
    for row in rows:
        size = int(row.get("gpus") or row["num_gpu"])
        duration = int(row["duration"])
        jobs.append(Job(row["job_id"], int(row["submit_time"]), size, duration))
        truths.append(Truth(duration))
    return simulate(Workload(jobs, truths), build_policy(scheduler, options), gpus)


@pytest.mark.parametrize(
    ("trace", "scheduler"),
    [(trace, scheduler) for trace in GPUS for scheduler in EXACT] + [("synth300", "las")],
)
def test_every_job_ends_when_it_does_in_the_peer(trace, scheduler):
    rows = read(DATA / f"{trace}.csv")
    ours = run(rows, GPUS[trace], scheduler)
    ends = {job.id: end for job, end in zip(ours.workload.jobs, ours.ends, strict=True)}
    assert ends == {row["job_id"]: int(row[scheduler]) for row in rows}
    if (trace, scheduler) in PREEMPTIONS:
        assert sum(ours.preemptions) == PREEMPTIONS[trace, scheduler]


def test_tiresias_is_within_what_its_rounding_of_times_explains():
    rows = read(DATA / "synth300.csv")
    peer = sum(int(r["tiresias"]) - int(r["submit_time"]) for r in rows) / len(rows)
    ours = summarise(run(rows, 64, "tiresias")).jct_mean
    assert ours == pytest.approx(peer, rel=0.015)


def test_all_cases_of_the_shared_golden_data(shared):
    folder = shared / "golden" / "simulator"
    for case in json.loads((folder / "cases.json").read_text()):
        options = dict(o.split("=") for o in case.get("options", ()) if "=" in o)
        ours = run(read(folder / case["trace"]), case["gpus"], case["scheduler"], options)
        jobs = {j.id: (j.submit, e) for j, e in zip(ours.workload.jobs, ours.ends, strict=True)}
        peer = {
            r["job_id"]: float(r.get("end_time") or r["end"]) for r in read(folder / case["golden"])
        }
        assert set(jobs) == set(peer)
        if case["mean_within"]:
            means = [
                sum(end - jobs[j][0] for j, end in ends.items()) / len(jobs)
                for ends in (peer, {j: end for j, (_, end) in jobs.items()})
            ]
            assert means[1] == pytest.approx(means[0], rel=case["mean_within"])
        else:
            assert {j: end for j, (_, end) in jobs.items()} == peer
