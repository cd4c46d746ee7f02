"""Arrays to and from strict JSON, and files that are never half written."""

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from evalstop.detectors.rules import State
from evalstop.errors import UserError


def to_json(value: State) -> Any:  # noqa: ANN401 - any JSON value
    """Write arrays (and NamedTuples of them) as lists; infinities and NaN become strings."""
    if isinstance(value, tuple):
        return {n: to_json(part) for n, part in zip(_names(value), value, strict=True)}
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, list):
        return [to_json(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def from_json(told: Any, like: State) -> State:  # noqa: ANN401 - any JSON value
    """Read what `to_json` wrote, with the structure and types of `like`."""
    if isinstance(like, tuple):
        parts = zip(_names(like), like, strict=True)
        return type(like)(*(from_json(told[name], part) for name, part in parts))
    array = np.array(_numbers(told), dtype=like.dtype)
    return array.reshape(0, *like.shape[1:]) if array.size == 0 else array


def _names(state: State) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(state, "_fields", ())
    return names


def _numbers(told: Any) -> Any:  # noqa: ANN401 - nested lists
    if isinstance(told, list):
        return [_numbers(v) for v in told]
    return float(told) if isinstance(told, str) else told


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a file under a temporary name, then put it in place in one step; text as UTF-8.

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    path = Path(path)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}, check the path") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
