"""What a search may set: the fields of a detector that have a range, or that the user gave one.

The spec of the command line says more than fixed values: ``weight=0.2..0.9`` is a range,
``target=running-mean|best-so-far`` a choice. Any other field that is named is fixed; those that are
not are searched over the range that the detector declares for them (`evalstop.detectors.settings`).
"""

import dataclasses
from dataclasses import dataclass
from itertools import product
from typing import Any

from evalstop.detectors import DETECTORS
from evalstop.detectors.rules import Detector, natural_threshold
from evalstop.detectors.settings import build, name_of, parse_spec, settings_of
from evalstop.errors import UserError

RANGE, CHOICE = "..", "|"
Params = dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """One field that is searched.

    Parameters
    ----------
    name : str
        The field.
    low, high : float
        Ends of its range, both included; whole numbers if `integer`.
    integer, log : bool
        Whether it is a whole number, and searched on a logarithmic scale.
    choices : tuple
        Its values, if they are listed instead.
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    log: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def values(self) -> list[Any] | None:
        """All values, or ``None`` if they are a continuum."""
        if self.choices:
            return list(self.choices)
        return list(range(int(self.low), int(self.high) + 1)) if self.integer else None

    @property
    def ends(self) -> tuple[Any, Any]:
        """The first and the last value."""
        values = self.values
        return (values[0], values[-1]) if values else (self.low, self.high)

    def short(self, value: Any) -> Any:  # noqa: ANN401 - of the type of the field
        """Cut a value between the ends of a continuum to four digits."""
        if self.values is not None:
            return value
        return min(max(float(f"{value:.4g}"), self.low), self.high)

    def told(self) -> str:
        """Write it as the command line reads it."""
        if self.choices:
            return f"{self.name}={CHOICE.join(map(str, self.choices))}"
        low, high = self.ends
        return f"{self.name}={low:g}{RANGE}{high:g}"


@dataclass(frozen=True)
class Space:
    """All settings that a search may come to.

    Parameters
    ----------
    base : Detector
        The detector with its fixed fields; the others are at their defaults.
    axes : tuple of Axis
        Fields that are searched.
    """

    base: Detector
    axes: tuple[Axis, ...]

    def detector(self, params: Params) -> Detector:
        """Make the detector with these values of the axes; others that `params` has are not its.

        Numbers have four digits, so that what is printed is what was measured.
        """
        changed = {axis.name: axis.short(params[axis.name]) for axis in self.axes if params}
        base: Any = self.base  # without fields there are no axes, and nothing changes
        made: Detector = dataclasses.replace(base, **changed) if changed else base
        return made

    def points(self) -> list[Params] | None:
        """Give all settings in order, or ``None`` if they are not finitely many."""
        values = [axis.values for axis in self.axes]
        if None in values:
            return None
        names = [axis.name for axis in self.axes]
        return [dict(zip(names, point, strict=True)) for point in product(*values)]  # type: ignore[arg-type]

    @property
    def sets_threshold(self) -> bool:
        """Whether the rule has a threshold of its own that the axes move (k of k-decline)."""
        own = natural_threshold(self.base)
        if own is None:
            return False
        moved = (self.detector({a.name: end}) for a in self.axes for end in a.ends)
        return any(natural_threshold(detector) != own for detector in moved)

    def told(self) -> list[str]:
        """Write the axes."""
        return [axis.told() for axis in self.axes]


def read_space(spec: str) -> Space:
    """Read ``NAME[:field=value|low..high|a|b,...]`` as the user typed it.

    Raises
    ------
    UserError
        If there is no such detector or field, or a value is none.
    """
    name, settings = parse_spec(spec)
    cls = DETECTORS.find(name, allow_path=True)
    searched = {f: text for f, text in settings.items() if RANGE in text or CHOICE in text}
    fixed = {f: text for f, text in settings.items() if f not in searched}
    base: Detector = DETECTORS.make(cls, name, fixed)
    axes = [_asked_axis(cls, field, text) for field, text in searched.items()]
    for field in dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ():
        declared = field.metadata.get("tune")
        if declared and field.name not in settings:
            axes.append(_declared_axis(cls, field, declared))
    return Space(base, tuple(axes))


def _declared_axis(cls: type, field: "dataclasses.Field[Any]", declared: object) -> Axis:
    """Read the search range of a field, which may be of a class of the user's."""
    integer, log = isinstance(field.default, int), bool(field.metadata.get("log"))
    match declared:
        case (int() | float() as low, int() | float() as high):
            if low < high and (low > 0 or not log):
                return Axis(field.name, low, high, integer, log)
    wanted = "two numbers, the lower first" + (", both above 0 (log)" if log else "")
    raise UserError(f"{name_of(cls)}: tune of {field.name} must be {wanted}, got {declared!r}")


def _asked_axis(cls: type, field: str, text: str) -> Axis:
    """Read a range or a choice; both ends have to be valid values of the field."""

    def value(piece: str) -> Any:  # noqa: ANN401 - of the type of the field
        return settings_of(build(cls, {field: piece.strip()}))[field]

    if CHOICE in text:
        choices = tuple(dict.fromkeys(value(piece) for piece in text.split(CHOICE)))
        return Axis(field, choices=choices)
    low, high = (value(piece) for piece in text.split(RANGE, 1))
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high))
    if not numbers or not low < high:
        raise UserError(f"{name_of(cls)}: {field} needs a range low..high of numbers, got {text!r}")
    declared = next(f for f in dataclasses.fields(cls) if f.name == field)
    log = bool(declared.metadata.get("log")) and low > 0
    return Axis(field, low, high, isinstance(low, int) and isinstance(high, int), log)
