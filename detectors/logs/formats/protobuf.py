"""The wire format of protocol buffers, as far as event files need it."""

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Give number and value of each field of a message; `ValueError` if it is none.

    Varints are given as unsigned integers, all others as their bytes.
    """
    at, size = 0, len(data)
    while at < size:
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
            yield tag >> 3, value
            continue
        if kind == BYTES:
            length, at = varint(data, at)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if at + length > size:
            raise ValueError("a field ends beyond its message")
        yield tag >> 3, data[at : at + length]
        at += length


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """Give the integer at `at`, and where the next field starts."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is cut")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def signed(value: int) -> int:
    """Give an int64 from its unsigned form."""
    return value - (1 << 64) if value >= 1 << 63 else value


def double(data: memoryview) -> float:
    """Give a double from its 8 bytes."""
    return float(_DOUBLE.unpack(data)[0])


def single(data: memoryview) -> float:
    """Give a float from its 4 bytes."""
    return float(_FLOAT.unpack(data)[0])
