"""Microsoft Philly: cuts as CSV, and the job log as JSON.

The cuts have ``timestamp`` and ``vc`` (or ``cluster``), a duration and a number of GPUs, and often
no job id. In the log a job has several attempts, each on its own GPUs; it is read as one job that
needs as many GPUs as its largest attempt, for as long as all attempts took. Jeon et al. (2019),
Analysis of large-scale multi-tenant GPU clusters for DNN training workloads, USENIX ATC.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalstop.errors import UserError
from evalstop.simulator.traces.table import Entry, Format, Row

GPUS = ("gpus", "num_gpus", "num_gpu", "gpu_num", "gpu")
DURATION = ("duration", "run_time", "runtime")
ID = ("job_id", "jobid")
TENANT = ("vc", "cluster")


def read(row: Row) -> Entry | None:
    """Read one job of a cut; without an id it is named by its row."""
    if row.missing(*DURATION):
        return None
    return Entry(
        id=row.text(*ID) or row.where.rpartition(" ")[2],
        submit=row.time("timestamp"),
        gpus=row.number(*GPUS),
        duration=row.number(*DURATION),
        tenant=row.text(*TENANT),
    )


PHILLY = Format("Philly", (("timestamp",), TENANT, GPUS, DURATION), read)


def read_log(path: Path, text: str) -> Iterator[tuple[str, Entry | None]]:
    """Read the jobs of a JSON log, with where they stand; None for a job that never ran."""
    try:
        jobs = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: it is no JSON ({error}), give the whole log") from None
    if not isinstance(jobs, list):
        raise UserError(f"{path}: a Philly log is a list of jobs, got {type(jobs).__name__}")
    for number, job in enumerate(jobs, start=1):
        where = f"{path}: row {number}"
        yield where, _read_job(where, job)


def _read_job(where: str, job: Any) -> Entry | None:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(job, dict) or not isinstance(job.get("attempts"), list):
        raise UserError(f"{where}, column attempts: it must be a list, is this a Philly log?")
    gpus, duration = 0, 0.0
    for attempt in job["attempts"]:
        try:
            times = Row(where, {k: str(attempt[k]) for k in ("start_time", "end_time")})
            size = sum(len(host["gpus"]) for host in attempt["detail"])
        except (TypeError, KeyError) as error:
            raise UserError(f"{where}, column attempts: an attempt lacks {error}") from None
        if times.missing("start_time") or times.missing("end_time"):
            continue
        lasted = times.time("end_time") - times.time("start_time")
        if lasted < 0:
            raise times.error("end_time", "it must not be before start_time")
        gpus, duration = max(gpus, size), duration + lasted
    if not gpus:
        return None
    row = Row(where, {"submitted_time": str(job.get("submitted_time", ""))})
    return Entry(
        id=str(job.get("jobid", where.rpartition(" ")[2])),
        submit=row.time("submitted_time"),
        gpus=gpus,
        duration=duration,
        tenant=str(job.get("vc", "")),
    )
