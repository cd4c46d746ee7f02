"""Our own columns: ``job_id,submit_time,gpus,duration[,type][,tenant][,estimate]``."""

from evalstop.simulator.traces.table import Entry, Format, Row


def read(row: Row) -> Entry:
    """Read one job; every number must be there."""
    return Entry(
        id=row.text("job_id"),
        submit=row.time("submit_time"),
        gpus=row.whole("gpus"),
        duration=row.number("duration"),
        type=row.text("type", "job_type"),
        tenant=row.text("tenant", "vc", "user"),
        estimate=None if row.missing("estimate") else row.number("estimate"),
    )


OURS = Format("our own", (("job_id",), ("submit_time",), ("gpus",), ("duration",)), read)
