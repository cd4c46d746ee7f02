"""SenseTime Helios: Slurm logs of four GPU clusters, times as dates.

``job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue``.
Hu et al. (2021), Characterization and prediction of deep learning workloads in large-scale GPU
datacenters, SC, doi:10.1145/3458817.3476223.
"""

from evalstop.simulator.traces.table import Entry, Format, Row


def read(row: Row) -> Entry | None:
    """Read one job, however it ended: it held its GPUs; one that never ran is none of ours."""
    if row.missing("duration") or row.missing("gpu_num"):
        return None
    return Entry(
        id=row.text("job_id"),
        submit=row.time("submit_time"),
        gpus=row.number("gpu_num"),
        duration=row.number("duration"),
        tenant=row.text("vc"),
    )


HELIOS = Format(
    "Helios",
    (("job_id",), ("vc",), ("gpu_num",), ("node_num",), ("submit_time",), ("duration",)),
    read,
)
