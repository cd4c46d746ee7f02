"""Alibaba PAI simulator: ``num_gpu`` in percent of a GPU, jobs share GPUs.

``job_id,num_gpu,num_cpu,num_inst,submit_time,duration,user,gpu_type``. Weng et al. (2022), MLaaS in
the wild: workload analysis and scheduling in large-scale heterogeneous GPU clusters, NSDI.
"""

from evalstop.simulator.exact import ratio
from evalstop.simulator.traces.table import Entry, Format, Row


def read(row: Row) -> Entry | None:
    """Read one job; one without GPUs is none of ours."""
    if row.missing("num_gpu"):
        return None
    return Entry(
        id=row.text("job_id"),
        submit=row.time("submit_time"),
        gpus=ratio(row.number("num_gpu"), 100),
        duration=row.number("duration"),
        tenant=row.text("user"),
    )


PAI = Format(
    "Alibaba PAI",
    (("job_id",), ("num_gpu",), ("num_cpu",), ("num_inst",), ("submit_time",), ("duration",)),
    read,
)
