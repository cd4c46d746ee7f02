"""A run as a file: one row for each job."""

import csv
from pathlib import Path

from evalstop.errors import UserError
from evalstop.simulator.exact import written
from evalstop.simulator.run import Run

COLUMNS = (
    "job_id",
    "submit_time",
    "start_time",
    "end_time",
    "jct",
    "gpus",
    "preemptions",
    "outcome",
    "alarm_at_last",
)


def write_jobs(run: Run, path: Path) -> None:
    """Write `COLUMNS` of every job, in the order of submission; times in seconds.

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    ended = zip(run.starts, run.ends, run.preemptions, run.outcomes, strict=True)
    rows = [
        (
            job.id,
            *(written(t) for t in (job.submit, start, end, end - job.submit)),
            job.gpus,
            preemptions,
            outcome,
            str(i in run.alarms_at_last).lower(),
        )
        for i, (job, (start, end, preemptions, outcome)) in enumerate(
            zip(run.workload.jobs, ended, strict=True)
        )
    ]
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    except OSError as error:
        raise UserError(f"{path}: it cannot be written ({error.strerror}), check it") from None
