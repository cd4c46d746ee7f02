"""Tiresias simulator: ``job_id,num_gpu,submit_time,iterations,model_name,duration,interval``.

Gu et al. (2019), Tiresias: a GPU cluster manager for distributed deep learning, NSDI.
"""

from evalstop.simulator.traces.table import Entry, Format, Row


def read(row: Row) -> Entry:
    """Read one job; the model is its type."""
    return Entry(
        id=row.text("job_id"),
        submit=row.time("submit_time"),
        gpus=row.whole("num_gpu"),
        duration=row.number("duration"),
        type=row.text("model_name"),
    )


TIRESIAS = Format(
    "Tiresias",
    (("job_id",), ("num_gpu",), ("submit_time",), ("duration",), ("model_name", "iterations")),
    read,
)
