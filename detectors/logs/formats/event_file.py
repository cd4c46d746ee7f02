"""TensorBoard's event files: records with checksums (TFRecord), each an ``Event`` message.

A light reader of the scalars only, after the published layouts of ``event.proto``,
``summary.proto`` and ``tensor.proto``; images, histograms and graphs are passed over.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evalstop.detectors.logs.formats.protobuf import double, fields, signed, single

MAX_RECORD = 16 << 20  # bytes of a record that is looked at; larger ones hold no scalar
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_START = 1  # of a SessionLog

# dtype of a tensor to (numpy type of its bytes, field of its values)
_TENSORS: dict[object, tuple[str, int]] = {
    1: ("<f4", 5),
    2: ("<f8", 6),
    3: ("<i4", 7),
    9: ("<i8", 10),
    19: ("<f2", 0),
}


@dataclass
class Event:
    """One event: its time, step and scalars, and whether a session starts with it."""

    time: float
    step: int
    scalars: dict[str, float]
    start: bool = False


def crc32c(data: bytes) -> int:
    """Give the masked CRC-32C of TFRecord."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _make_table() -> list[int]:
    table = []
    for i in range(256):
        crc = i
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _make_table()


def is_event_file(head: bytes) -> bool:
    """Tell by the checksum of the first record's length."""
    if len(head) < _HEADER.size:
        return False
    length, crc = _HEADER.unpack_from(head)
    return bool(crc32c(head[:8]) == crc and length < 1 << 40)


def events(path: Path, warnings: list[str]) -> Iterator[Event]:
    """Give the events of a file that bear on curves; a cut or damaged end is a warning."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while header := file.read(_HEADER.size):
            if len(header) < _HEADER.size:
                warnings.append(f"{path}: the last record is truncated: skipped")
                return
            length, crc = _HEADER.unpack(header)
            if crc32c(header[:8]) != crc:
                warnings.append(f"{path}: a record is damaged: what follows it is not read")
                return
            if length > MAX_RECORD:
                if file.seek(length + _FOOTER.size, 1) > size:
                    warnings.append(f"{path}: the last record is truncated: skipped")
                continue
            data, footer = file.read(length), file.read(_FOOTER.size)
            if len(data) < length or len(footer) < _FOOTER.size:
                warnings.append(f"{path}: the last record is truncated: skipped")
                return
            event = parse(memoryview(data), warnings, path)
            if event is None:
                continue
            if crc32c(data) != _FOOTER.unpack(footer)[0]:
                warnings.append(f"{path}: the record of step {event.step} is damaged: skipped")
                continue
            yield event


def parse(data: memoryview, warnings: list[str], path: Path) -> Event | None:
    """Give an event that has scalars or starts a session, else None."""
    event = Event(math.nan, 0, {})
    try:
        for number, value in fields(data):
            if number == 1 and isinstance(value, memoryview):
                event.time = double(value)
            elif number == 2 and isinstance(value, int):
                event.step = signed(value)
            elif number == 5 and isinstance(value, memoryview):
                event.scalars.update(_scalars(value))
            elif number == 7 and isinstance(value, memoryview):
                event.start = any(n == 1 and told == _START for n, told in fields(value))
    except (ValueError, struct.error):
        warnings.append(f"{path}: a record is no event: skipped")
        return None
    return event if event.scalars or event.start else None


def _scalars(summary: memoryview) -> Iterator[tuple[str, float]]:
    for number, value in fields(summary):
        if number != 1 or not isinstance(value, memoryview):
            continue
        tag, scalar = "", None
        for part, told in fields(value):
            if not isinstance(told, memoryview):
                continue
            if part == 1:
                tag = bytes(told).decode("utf-8", "replace")
            elif part == 2:
                scalar = single(told)
            elif part == 8:
                scalar = _scalar_tensor(told)
        if tag and scalar is not None:
            yield tag, scalar


def _scalar_tensor(tensor: memoryview) -> float | None:
    """Give the number of a tensor with one element, None for other tensors."""
    told = dict(fields(tensor))
    kind, at = _TENSORS.get(told.get(1), ("", 0))
    content = told.get(4, told.get(at))
    if not kind or content is None:
        return None
    if isinstance(content, int):
        return float(signed(content))
    if len(content) != np.dtype(kind).itemsize:
        return None
    return float(np.frombuffer(content, kind)[0])
