"""Write the same curves in many formats, each by its own few lines."""

import csv
import io
import json
import math
import struct
from pathlib import Path

import numpy as np

Curves = dict[str, dict[int, float]]  # metric to step to value


def rows(curves: Curves) -> list[dict]:
    """Give a record for each step, a key missing where there was no eval."""
    steps = sorted({step for points in curves.values() for step in points})
    return [
        {"step": step, **{m: points[step] for m, points in curves.items() if step in points}}
        for step in steps
    ]


def jsonl(curves: Curves, path: Path) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(curves)))
    return path


def trainer_state(curves: Curves, path: Path) -> Path:
    path = path.with_suffix(".json")
    path.write_text(json.dumps({"global_step": 1, "log_history": rows(curves)}, indent=1))
    return path


def by_step(curves: Curves, path: Path) -> Path:
    path = path.with_suffix(".json")
    table = {str(row.pop("step")): row for row in rows(curves)}
    path.write_text(json.dumps(dict(sorted(table.items()))))  # in text order
    return path


def console(curves: Curves, path: Path) -> Path:
    path = path.with_suffix(".log")
    bar = "\r 10%|#   | 1/10 [00:01<00:09, 1.0s/it]"
    lines = [f"INFO {row}{bar}\n" for row in rows(curves)]
    path.write_text("loading\n{'weights': 1}\n" + "".join(lines) + "done\n")
    return path


def table(curves: Curves, path: Path, delimiter: str = ",", decimal: str = ".") -> Path:
    path = path.with_suffix(".csv")
    text = io.StringIO()
    writer = csv.DictWriter(text, ["step", *curves], delimiter=delimiter)
    writer.writeheader()
    for row in rows(curves):
        writer.writerow({k: str(v).replace(".", decimal) for k, v in row.items()})
    path.write_text(text.getvalue())
    return path


def tidy(curves: Curves, path: Path) -> Path:
    path = path.with_suffix(".csv")
    lines = [f"a,{m},{s},{v!r}\n" for m, points in curves.items() for s, v in points.items()]
    path.write_text("run,metric,step,value\n" + "".join(lines))
    return path


def markdown(curves: Curves, path: Path) -> Path:
    path = path.with_suffix(".md")
    head = ["Step", *curves]
    body = [[row["step"], *(row.get(m, "-") for m in curves)] for row in rows(curves)]
    lines = [
        "| " + " | ".join(map(str, cells)) + " |" for cells in [head, ["---"] * len(head), *body]
    ]
    path.write_text("# A report\n\n" + "\n".join(lines) + "\n\nThe end.\n")
    return path


def chart(curves: Curves, path: Path) -> Path:
    path = path.with_suffix(".csv")
    metrics = list(curves)
    head = ["train/global_step", *(f"a - b - {m}{end}" for m in metrics for end in ("", "__MIN"))]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(head)
        for row in rows(curves):
            writer.writerow([row["step"], *(row.get(m, "") for m in metrics for _ in range(2))])
    return path


def mlflow_files(curves: Curves, path: Path) -> Path:
    run = path / "1" / "abc"
    (run / "metrics").mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: abc\nrun_name: 'it''s a'\nlifecycle_stage: active\n")
    for metric, points in curves.items():
        file = run / "metrics" / metric
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{1000 + s} {v!r} {s}\n" for s, v in points.items()))
    return path


def arrays(curves: Curves, path: Path) -> Path:
    path = path.with_suffix(".npz")
    table = rows(curves)
    columns = {m: [row.get(m, math.nan) for row in table] for m in curves}
    np.savez(path, timesteps=[row["step"] for row in table], **columns)
    return path


def event_files(curves: Curves, path: Path) -> Path:
    path.mkdir(parents=True)
    events = [event(row.pop("step"), row) for row in rows(curves)]
    half = len(events) // 2
    head = record(b"\x1a\x0dbrain.Event:2")
    (path / "events.out.tfevents.1.host").write_bytes(head + b"".join(events[:half]))
    (path / "events.out.tfevents.2.host").write_bytes(head + b"".join(events[half:]))
    return path


def record(data: bytes) -> bytes:
    """Give a TFRecord."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", mask(length)) + data + struct.pack("<I", mask(data))


def mask(data: bytes) -> int:
    """Give the masked CRC-32C, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def varint(value: int) -> bytes:
    value %= 1 << 64
    told = b""
    while value > 127:
        told += bytes([value % 128 + 128])
        value //= 128
    return told + bytes([value])


def part(number: int, data: bytes) -> bytes:
    """Give a field with a length."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(step: int, scalars: dict[str, float], *, time: float = 1e9, start: bool = False) -> bytes:
    """Give the record of an event; values are kept in doubles, as a tensor."""
    told = b"\x09" + struct.pack("<d", time) + b"\x10" + varint(step)
    summary = b"".join(
        part(1, part(1, tag.encode()) + part(8, b"\x08\x02" + part(4, struct.pack("<d", value))))
        for tag, value in scalars.items()
    )
    told += part(5, summary) if scalars else b""
    return record(told + (part(7, b"\x08\x01") if start else b""))
