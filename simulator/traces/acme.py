"""Shanghai AI Laboratory Acme: two LLM clusters (Kalos, Seren), times as dates.

``job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,
gpu_time``; types Eval, Pretrain, SFT, MLLM, Debug, Other. Hu et al. (2024), Characterization of
large language model development in the datacenter, NSDI.
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
        type=row.text("type"),
        tenant=row.text("user"),
    )


ACME = Format(
    "Acme",
    (("job_id",), ("gpu_num",), ("type",), ("state",), ("submit_time",), ("duration",)),
    read,
)
