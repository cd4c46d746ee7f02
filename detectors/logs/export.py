"""Curves as JSON and as tidy CSV, in the form that the command line promises."""

import csv
import io
import math
from typing import Any

from evalstop.detectors.logs.curve import Curve, Reading

COLUMNS = ("run", "metric", "role", "step", "value", "stderr", "higher_is_better")


def tidy_csv(reading: Reading) -> str:
    """Give all curves as CSV, a row for each value; `read_logs` reads it back to the same curves.

    Missing values are written as what was logged there: nan, inf, -inf or a number beyond 1e100.
    """
    text = io.StringIO(newline="")
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    plain.writerow(COLUMNS)
    for curve in reading.curves:
        rows = plain if _is_plain(curve.run) and _is_plain(curve.metric) else quoted
        told = dict(curve.nonfinite)
        higher = "" if curve.higher_is_better is None else int(curve.higher_is_better)
        for i, step in enumerate(curve.steps.tolist()):
            value = curve.values[i].item()
            error = math.nan if curve.stderr is None else curve.stderr[i].item()
            cells = (
                number(step),
                told.get(step, "nan") if math.isnan(value) else value,
                "" if math.isnan(error) else error,
            )
            rows.writerow((curve.run, curve.metric, curve.role, *cells, higher))
    return text.getvalue()


def _is_plain(name: str) -> bool:
    """Tell whether a reader of CSV keeps a name as it is without quotes."""
    return name.isprintable() and name == name.strip() and not name.startswith("#")


def as_json(curve: Curve) -> dict[str, Any]:
    """Give a curve as the command line prints it: missing values are null."""
    return {
        "run": curve.run,
        "metric": curve.metric,
        "role": curve.role,
        "higher_is_better": curve.higher_is_better,
        "steps": [number(step) for step in curve.steps.tolist()],
        "values": _nulls(curve.values.tolist()),
        "nonfinite": [{"step": number(step), "value": told} for step, told in curve.nonfinite],
        "stderr": None if curve.stderr is None else _nulls(curve.stderr.tolist()),
        "n": None if curve.n is None else curve.n.tolist(),
    }


def number(value: float) -> int | float:
    """Give a whole number as an integer, so that step 100 is not written 100.0."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _nulls(values: list[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]
