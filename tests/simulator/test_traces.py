"""Traces of six kinds are read as they are meant, and what is wrong in one is named."""

import json
from fractions import Fraction

import numpy as np
import pytest

from evalstop.errors import UserError
from evalstop.simulator import build_policy, simulate
from evalstop.simulator.traces import FORMATS, read_trace

ACME = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
    "queue,gpu_time"
)
HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
)
TRACES = {
    "our own": "job_id,submit_time,gpus,duration,type\na,0,2,10.5,RLHF\n\nb,3.25,1,4,\n",
    "Tiresias": (
        "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
        "a,2,0,1,vgg16,10.5,0\nb,1,3.25,1,vgg16,4,0\n"
    ),
    "Alibaba PAI": (
        "job_id,num_gpu,num_cpu,num_inst,submit_time,duration,user,gpu_type\n"
        "a,200,600,1,0,10.5,u1,V100\nb,25,600,1,3.25,4,u2,T4\nc,0,600,1,3,4,u2,\n"
    ),
    "Acme": (
        f"{ACME}\n"
        "a,u1,1,2,16,Pretrain,COMPLETED,2023-05-17 11:00:00+00:00,,,10.5,0,21\n"
        "b,u2,1,1,16,Eval,CANCELLED,2023-05-17 19:00:03.25+08:00,,,4,0,4\n"
        "c,u2,1,0,16,Other,COMPLETED,2023-05-17 11:00:09+00:00,,,4,0,0\n"
        "d,u2,1,8,16,Other,RUNNING,2023-05-17 11:00:09+00:00,,,,0,0\n"
    ),
    "Helios": (
        f"{HELIOS}\n"
        "a,u1,vc1,2,16,1,COMPLETED,2020-04-01 00:00:00,,,10.5,0\n"
        "b,u2,vc2,1,16,1,FAILED,2020-04-01 00:00:03.25,,,4,0\n"
    ),
    "Philly": (
        "timestamp,vc,num_gpus,duration\n"
        "2017-10-09 07:00:00,11cb48,2,10.5\n2017-10-09 07:00:03.25,6214e9,1,4\n"
    ),
    "Philly log": json.dumps(
        [
            {
                "jobid": "a",
                "vc": "ee9e8c",
                "user": "u",
                "status": "Pass",
                "submitted_time": "2017-10-07 01:00:00",
                "attempts": [
                    {
                        "start_time": "2017-10-07 01:10:00",
                        "end_time": "2017-10-07 01:10:06.5",
                        "detail": [{"ip": "m1", "gpus": ["gpu0"]}],
                    },
                    {
                        "start_time": "2017-10-07 02:00:00",
                        "end_time": "2017-10-07 02:00:04",
                        "detail": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": ["gpu3"]}],
                    },
                ],
            },
            {
                "jobid": "b",
                "vc": "ee9e8c",
                "submitted_time": "2017-10-07 01:00:03.25",
                "attempts": [
                    {
                        "start_time": "2017-10-07 01:10:00",
                        "end_time": "2017-10-07 01:10:04",
                        "detail": [{"ip": "m1", "gpus": ["gpu0"]}],
                    },
                    {"start_time": None, "end_time": None, "detail": []},
                ],
            },
            {"jobid": "c", "submitted_time": "None", "attempts": []},
        ]
    ),
}


def write(tmp_path, text, name="trace.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", TRACES)
def test_two_jobs_are_the_same_in_every_format(name, tmp_path):
    workload = read_trace(write(tmp_path, TRACES[name]), estimate_error=0)
    first, second = workload.jobs
    assert second.submit - first.submit == Fraction(13, 4)
    assert [j.gpus for j in workload.jobs] == [2, 1]
    assert [t.duration for t in workload.truths] == [Fraction(21, 2), 4]
    assert [j.estimate for j in workload.jobs] == [Fraction(21, 2), 4]
    if name != "Philly":  # has no ids: named by row
        assert [j.id for j in workload.jobs] == ["a", "b"]


def test_what_a_format_says_besides_is_kept():
    assert len({form.name for form in FORMATS}) == len(FORMATS) == 6


@pytest.mark.parametrize(
    ("name", "types", "tenants", "notes"),
    [
        ("our own", ["RLHF", ""], ["", ""], 0),
        ("Acme", ["Pretrain", "Eval"], ["u1", "u2"], 1),
        ("Helios", ["", ""], ["vc1", "vc2"], 0),
        ("Alibaba PAI", ["", ""], ["u1", "u2"], 2),
        ("Philly", ["", ""], ["11cb48", "6214e9"], 0),
        ("Philly log", ["", ""], ["ee9e8c", "ee9e8c"], 1),
    ],
)
def test_types_tenants_and_what_was_left_out(name, types, tenants, notes, tmp_path):
    workload = read_trace(write(tmp_path, TRACES[name]))
    assert [j.type for j in workload.jobs] == types
    assert [j.tenant for j in workload.jobs] == tenants
    assert len(workload.notes) == notes


def test_gpus_are_scaled_and_rounded_up(tmp_path):
    rows = "".join(f"{i},0,{gpus},1\n" for i, gpus in enumerate((1, 16, 24, 1024)))
    path = write(tmp_path, f"job_id,submit_time,gpus,duration\n{rows}")
    workload = read_trace(path, scale_gpus=Fraction(1, 16))
    assert [j.gpus for j in workload.jobs] == [1, 1, 2, 64]
    assert "2 jobs with a part of a GPU" in workload.notes[0]


def test_estimates_are_lognormal_around_the_truth_and_repeat_with_the_seed(tmp_path):
    rows = "".join(f"{i},{i},1,100\n" for i in range(4000))
    path = write(tmp_path, f"job_id,submit_time,gpus,duration\n{rows}")
    logs = np.log([j.estimate / 100 for j in read_trace(path, estimate_error=0.3).jobs])
    assert logs.mean() == pytest.approx(0, abs=0.02)
    assert logs.std() == pytest.approx(0.3, abs=0.02)
    first, again, other = (read_trace(path, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.jobs != other.jobs


def test_decimal_times_meet_exactly(tmp_path):
    """Job a ends at .1 + .2; b comes at .3, is shorter than c, and must be there by then."""
    path = write(tmp_path, "job_id,submit_time,gpus,duration\na,.1,1,.2\nb,.3,1,1\nc,0.15,1,2\n")
    workload = read_trace(path)
    assert workload.jobs[0].submit == Fraction(1, 10)
    run = simulate(workload, build_policy("sjf-skip"), 1)
    ends = dict(zip((j.id for j in workload.jobs), run.ends, strict=True))
    assert ends == {"a": Fraction(3, 10), "b": Fraction(13, 10), "c": Fraction(33, 10)}


def test_a_stated_estimate_is_kept(tmp_path):
    path = write(tmp_path, "job_id,submit_time,gpus,duration,estimate\na,0,1,10,7.5\nb,0,1,10,\n")
    first, second = read_trace(path).jobs
    assert first.estimate == Fraction(15, 2)
    assert second.estimate != 10


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "row 1: the header is of no known format"),
        (
            "job_id,submit_time,gpu,duration\n",
            "row 1: .* has a column gpus .did you mean 'gpu'",
        ),
        ("job_id,submit_time,gpus,duration\n", "no job in it ran on GPUs"),
        (
            "job_id,submit_time,gpus,duration\na,0,1,5\nb,0,1,abc\n",
            "row 3, column duration: it must be a number, got 'abc'",
        ),
        ("job_id,submit_time,gpus,duration\na,0,1,-5\n", "row 2, column duration: .* at least 0"),
        ("job_id,submit_time,gpus,duration\na,0,1,nan\n", "row 2, column duration: .* number"),
        ("job_id,submit_time,gpus,duration\na,0,1,\n", "row 2, column duration: .* number, got ''"),
        ("job_id,submit_time,gpus,duration\na,0,1.5,5\n", "row 2, column gpus: .* whole number"),
        ("job_id,submit_time,gpus,duration\na,0,0,5\n", "row 2, column gpus: .* at least 1"),
        ("job_id,submit_time,gpus,duration\na,soon,1,5\n", "row 2, column submit_time: .* seconds"),
        ("job_id,submit_time,gpus,duration\na,0,1\n", "row 2: it has 3 cells and the header 4"),
        (
            "job_id,submit_time,gpus,duration\na,0,1,5\n\na,1,1,5\n",
            "row 4, column job_id: 'a' is there twice",
        ),
        ("job_id,submit_time,gpus,duration\n,0,1,5\n", "row 2, column job_id: it is empty"),
        ("job_id,submit_time,gpus,gpus,duration\na,0,1,1,5\n", "column gpus is there twice"),
        (f"{ACME}\na,u,1,x,1,SFT,COMPLETED,2023-05-17,,,5,0,0\n", "row 2, column gpu_num"),
        (f"{HELIOS}\na,u,v,1,1,1,FAILED,17.5.2023,,,5,0\n", "row 2, column submit_time"),
        ('[{"jobid": ', "it is no JSON"),
        ('{"jobid": 3}', "a list of jobs, got dict"),
        ("[3]", "row 1, column attempts: it must be a list"),
        ('[{"attempts": [{}]}]', "row 1, column attempts: an attempt lacks 'start_time'"),
        (
            TRACES["Philly log"].replace("02:00:04", "01:00:04"),
            "row 1, column end_time: it must not be before start_time",
        ),
    ],
)
def test_errors_name_file_row_and_column(text, problem, tmp_path):
    path = write(tmp_path, text, "some trace.csv")
    with pytest.raises(UserError, match=f"some trace.csv: .*{problem}"):
        read_trace(path)


def test_files_that_are_none(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_trace(tmp_path / "missing.csv")
    with pytest.raises(UserError, match="cannot be read"):
        read_trace(tmp_path)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(UserError, match="it is no text"):
        read_trace(tmp_path / "binary.csv")
    for wrong in ({"scale_gpus": 0}, {"estimate_error": -1}, {"estimate_error": 6}):
        with pytest.raises(UserError, match=next(iter(wrong)).replace("_", "-")):
            read_trace(write(tmp_path, TRACES["our own"]), **wrong)


def test_a_byte_order_mark_and_other_line_ends(tmp_path):
    text = "\ufeff" + TRACES["our own"].replace("\n", "\r\n")
    (tmp_path / "windows.csv").write_bytes(text.encode())
    assert len(read_trace(tmp_path / "windows.csv")) == 2


@pytest.mark.parametrize(
    ("name", "jobs", "largest"),
    [("philly_20k", 20000, 16), ("philly_mix_480", 480, 16), ("acme_kalos_319", 319, 64)],
)
def test_the_shared_cluster_traces(name, jobs, largest, shared):
    path = shared / "data" / "cluster" / f"{name}.csv"
    workload = read_trace(path, scale_gpus=Fraction(1, 16) if "acme" in name else 1)
    assert len(workload) == jobs
    assert max(j.gpus for j in workload.jobs) == largest
