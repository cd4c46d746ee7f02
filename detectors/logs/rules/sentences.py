"""How steps and lists are written in warnings."""

from collections.abc import Iterable, Sequence


def step_text(step: float) -> str:
    """Write a step: 1234567, 0.06."""
    return str(int(step)) if step.is_integer() and abs(step) < 1e15 else f"{step:g}"


def steps_text(steps: Iterable[float], most: int = 200) -> str:
    """Write ``step 80`` or ``steps 80, 120``.

    >>> steps_text([80]), steps_text([80, 120]), steps_text(range(9), most=2)
    ('step 80', 'steps 80, 120', 'steps 0, 1 and 7 more')
    """
    told = [step_text(float(s)) for s in steps]
    return f"step{'s' if len(told) > 1 else ''} {some(told, most)}"


def lines_text(lines: Sequence[int], most: int = 5) -> str:
    """Write ``line 3`` or ``lines 3, 4``."""
    return f"line{'s' if len(lines) > 1 else ''} {some(lines, most)}"


def some(items: Sequence[object], most: int = 5) -> str:
    """Write a list, its end left out where it is long; a line break in a name does not break it."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    told = ", ".join(map(str, items[:most]))
    return "".join(c if c.isprintable() else "?" for c in told) + more
