"""JSON objects keyed by step, in any order of run, step and metric, or holding columns.

``{run: {step: {metric: value}}}``, ``{step: {metric: value}}``, ``{metric: {step: value}}``,
``{run: {metric: {step: value}}}``, lists of records ``{run: [{...}, ...]}``, and columns
``{"step": [...], metric: [...]}``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.rules.cells import BASE, key_step, number
from evalstop.detectors.logs.rules.names import use
from evalstop.detectors.logs.series import Found

_LABELS = BASE | {"final", "last", "best"}


def fits(document: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell by records being found in it."""
    return isinstance(document, dict) and next(records(document), None) is not None


def read(document: Any, log: Log) -> Found:  # noqa: ANN401
    """Read all records."""
    log.ordered = False
    for record in records(document):
        log.add(record)
    return assemble(log)


def records(
    document: Mapping[str, Any], run: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Give the records of a document, or nothing if it has another shape."""
    base = dict(run or {})
    if _is_by_step(document):
        for label, cell in document.items():
            values = cell if isinstance(cell, dict) else {"value": cell}
            yield {**base, **values, "step": label}
    elif _is_columns(document):
        columns = {k: v for k, v in document.items() if isinstance(v, list)}
        for i in range(len(next(iter(columns.values())))):
            yield {**base, **{name: column[i] for name, column in columns.items()}}
    elif document and all(isinstance(v, dict) and _is_series(v) for v in document.values()):
        clocked = any(use(name)[0] in ("step", "epoch") for name in document)  # pandas' columns
        rows: dict[str, dict[str, Any]] = {}
        for name, series in document.items():
            for label, value in series.items():
                row = rows.setdefault(label, dict(base) if clocked else {**base, "step": label})
                row[name] = value
        yield from rows.values()
    elif document and all(_is_records(inner) for inner in document.values()):
        for name, records_of_run in document.items():
            yield from ({**record, "run": name} for record in records_of_run)
    elif not run:
        for name, inner in document.items():
            if isinstance(inner, dict):
                yield from records(inner, {"run": name})


def _is_by_step(document: Mapping[str, Any]) -> bool:
    """Tell an object whose keys are steps and whose values are numbers or metrics."""
    steps = [label for label in document if key_step(label) is not None]
    return (
        bool(steps)
        and all(label in steps or label.lower() in _LABELS for label in document)
        and all(_is_metrics(cell) for cell in document.values())
    )


def _is_metrics(cell: object) -> bool:
    if isinstance(cell, dict):
        return any(number(value) is not None or isinstance(value, dict) for value in cell.values())
    return cell is None or number(cell) is not None


def _is_series(document: Mapping[str, Any]) -> bool:
    return _is_by_step(document) and not any(isinstance(v, dict) for v in document.values())


def _is_records(inner: object) -> bool:
    return isinstance(inner, list) and bool(inner) and all(isinstance(row, dict) for row in inner)


def _is_columns(document: Mapping[str, Any]) -> bool:
    """Tell an object of lists of one length, as a table's columns or a training's history."""
    columns = [v for v in document.values() if isinstance(v, list)]
    return (
        bool(columns)
        and not any(isinstance(v, dict) for v in document.values())
        and len({len(c) for c in columns}) == 1
        and len(columns[0]) > 0
        and all(not isinstance(c, dict | list) for column in columns for c in column[:3])
        and any(number(c) is not None for column in columns for c in column)
    )
