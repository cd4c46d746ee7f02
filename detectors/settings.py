"""Settings: the fields of a frozen config, declared once.

A detector, a scheduler or a world is a frozen dataclass whose fields are made by `setting`. What
is written there (range, unit, choices) serves validation, the listings of the command line, the
parsing of ``NAME:field=value`` and the search space of ``evalstop tune``.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Patience:
...     evals: int = setting(3, low=1, tune=(1, 20), unit="evals")
...     def __post_init__(self): check_settings(self)
>>> build(Patience, {"evals": "5"})
Patience(evals=5)
>>> build(Patience, {"eval": "5"})
Traceback (most recent call last):
evalstop.errors.UserError: Patience: there is no setting 'eval', did you mean 'evals'?
>>> Patience(0)
Traceback (most recent call last):
evalstop.errors.UserError: Patience: evals must be at least 1, got evals=0
"""

import dataclasses
import difflib
import math
import numbers
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from evalstop.errors import UserError

T = TypeVar("T")

# The types of the fields of a class, worked out once and not for each of its configs.
_types: Callable[[type], dict[str, Any]] = cache(typing.get_type_hints)


def setting(  # noqa: PLR0913 - one keyword for each thing a field has to say
    default: Any,  # noqa: ANN401 - the type of the field itself
    *,
    low: float = -math.inf,
    high: float = math.inf,
    tune: tuple[float, float] | None = None,
    log: bool = False,
    unit: str = "",
    choices: tuple[str, ...] = (),
    doc: str = "",
) -> Any:  # noqa: ANN401 - dataclasses.field lies about its type in the same way
    """Declare a field: its default, valid range ``[low, high]``, unit and search range.

    Parameters
    ----------
    default : int, float, bool, str or tuple of float
        Default value.
    low, high : float
        Smallest and largest valid value.
    tune : (float, float), optional
        Range that a search should cover; none = the field is left at its value.
    log : bool
        Search on a logarithmic scale.
    unit : str
        Unit of the value ("evals", "sigma", "s").
    choices : tuple of str
        The valid words of a text field.
    doc : str
        What it does, in a few words.
    """
    told = {"low": low, "high": high, "tune": tune, "log": log, "unit": unit}
    return dataclasses.field(default=default, metadata={**told, "choices": choices, "doc": doc})


def check_settings(config: Any) -> None:  # noqa: ANN401 - any dataclass
    """Raise `UserError` if a field of `config` is of another type, or out of range or choices."""
    name, hints = name_of(config), _types(type(config))
    for field in dataclasses.fields(config):
        value, told = getattr(config, field.name), field.metadata
        got = f"got {field.name}={value}"
        if told.get("choices") and value not in told["choices"]:
            raise UserError(
                f"{name}: {field.name} must be one of {', '.join(told['choices'])}, {got}"
            )
        if not _fits(value, hints[field.name]):
            kind = _kind(hints[field.name])
            raise UserError(
                f"{name}: {field.name} must be of type {kind}, got {field.name}={value!r}"
            )
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            continue
        if math.isnan(value):
            raise UserError(f"{name}: {field.name} must be a number, {got}")
        if value < told.get("low", -math.inf):
            raise UserError(f"{name}: {field.name} must be at least {told['low']:g}, {got}")
        if value > told.get("high", math.inf):
            raise UserError(f"{name}: {field.name} must be at most {told['high']:g}, {got}")


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - the type of any field
    """Tell whether a value is of the type of a field; a float may be any real number."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, each) for each in args)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(v, args[0]) for v in value)
    if kind in (int, float):
        wanted = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, wanted) and not isinstance(value, bool)
    return kind not in (bool, str, types.NoneType) or isinstance(value, kind)


def _kind(kind: Any) -> str:  # noqa: ANN401 - the type of any field
    """Name the type of a field: ``int``, ``float | None``, ``tuple[float, ...]``."""
    return kind.__name__ if isinstance(kind, type) else str(kind)


def name_of(config: Any) -> str:  # noqa: ANN401 - any config or its class
    """Give the public name of a config: its ``name`` if it has one, else that of its class."""
    cls = config if isinstance(config, type) else type(config)
    return str(getattr(cls, "name", cls.__name__))


def settings_of(config: Any) -> dict[str, Any]:  # noqa: ANN401 - any config
    """Give the fields of a config with their values."""
    if not dataclasses.is_dataclass(config):
        return {}
    return {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}


def spec_of(config: Any) -> str:  # noqa: ANN401 - any config
    """Write a config as the command line reads it, defaults left out: ``NAME:field=value``."""
    changed = [
        f"{f.name}={write(getattr(config, f.name))}"
        for f in (dataclasses.fields(config) if dataclasses.is_dataclass(config) else ())
        if getattr(config, f.name) != f.default
    ]
    return name_of(config) + (":" + ",".join(changed) if changed else "")


def write(value: object) -> str:
    """Write one value as `build` reads it back."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(write(v) for v in value)
    return repr(float(value)) if isinstance(value, float) else str(value)  # numpy's repr is not


def nearest(word: str, known: Iterable[str]) -> str:
    """End a sentence about an unknown word: the nearest known one, or all of them."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(known)}" if known else "it has none"


def split_specs(text: str) -> list[str]:
    """Split a comma list of specs; a piece ``field=value`` continues the spec before it.

    >>> split_specs("k-decline:k=3,form=tolerance,patience,cusum:k=.5")
    ['k-decline:k=3,form=tolerance', 'patience', 'cusum:k=.5']
    """
    specs: list[str] = []
    for piece in filter(None, (p.strip() for p in text.split(","))):
        if specs and re.match(r"[A-Za-z_]\w*=", piece):
            specs[-1] += ("," if ":" in _tail(specs[-1]) else ":") + piece
        else:
            specs.append(piece)
    return specs


def with_all(specs: Iterable[str], members: Sequence[str]) -> list[str]:
    """Put all members where ``all`` stands; what is named twice counts once.

    >>> with_all(["all", "patience", "mine.py:Mine"], ["k-decline", "patience"])
    ['k-decline', 'patience', 'mine.py:Mine']
    """
    named = (members if spec == "all" else [spec] for spec in specs)
    return list(dict.fromkeys(spec for group in named for spec in group))


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Split ``NAME:field=value,field=value`` into the name and its settings.

    A file is split off first: ``path.py:Class:field=value`` has the name ``path.py:Class``. A piece
    without ``=`` continues the value before it: ``thresholds=3250,7200``.

    >>> parse_spec("my/rule.py:Mine:k=2")
    ('my/rule.py:Mine', {'k': '2'})
    """
    tail = _tail(text)
    head = text[: len(text) - len(tail)]
    name, _, rest = tail.partition(":")
    settings: dict[str, str] = {}
    last = ""
    for piece in rest.split(",") if rest else ():
        field, equals, value = piece.partition("=")
        if equals:
            last = field.strip()
            if last in settings:
                raise UserError(f"{text!r}: {last} is given twice, give it once")
            settings[last] = value.strip()
        elif last:
            settings[last] += "," + piece.strip()
        else:
            raise UserError(
                f"{text!r}: {piece!r} is no setting, write NAME:field=value,field=value"
            )
    return head + name, settings


def _tail(text: str) -> str:
    """Give what follows ``path.py:``, or all of the text when there is no path."""
    path = re.match(r"(?:.*\.py):(?=[A-Za-z_])", text)
    return text[path.end() :] if path else text


def build(cls: type[T], settings: Mapping[str, str]) -> T:
    """Make a config from settings written as text; `UserError` names what does not fit."""
    name = name_of(cls)
    fields = {f.name: f for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    values, hints = {}, _types(cls)
    for key, text in settings.items():
        if key not in fields:
            raise UserError(f"{name}: there is no setting {key!r}, {nearest(key, fields)}")
        kind = hints[key]
        try:
            values[key] = _read(kind, text)
        except ValueError:
            raise UserError(f"{name}: {key} must be of type {_kind(kind)}, got {text!r}") from None
    return cls(**values)


def _read(kind: Any, text: str) -> Any:  # noqa: ANN401 - the type of any field
    if kind is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]
    if kind in (int, float, str):
        return kind(text)
    args = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return tuple(_read(args[0], piece) for piece in text.split(",") if piece)
    if type(None) in args:
        if text.lower() in ("none", ""):
            return None
        return _read(next(a for a in args if a is not type(None)), text)
    raise ValueError(text)
