"""MLflow: what its two stores have in common, runs with metrics of (time, value, step)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.log import Ask, Log
from evalstop.detectors.logs.problems import NoCurveError
from evalstop.detectors.logs.rules.sentences import some
from evalstop.detectors.logs.series import Found


class Logged(NamedTuple):
    """One value of a metric; `time` in milliseconds."""

    metric: str
    time: float
    value: float
    step: float


def read_run(
    source: str, run: str, ask: Ask, logged: Iterable[Logged], warnings: Iterable[str] = ()
) -> Found:
    """Read one run: its values in the order of their times, rows of one moment together."""
    log = Log(source, run, ask, own_run=False, warnings=list(warnings))
    by_metric: dict[str, list[Logged]] = {}
    for told in sorted(logged, key=lambda told: (told.time, told.step)):
        by_metric.setdefault(told.metric, []).append(told)
    moments: dict[tuple[float, float], dict[str, float]] = {}
    repeats: list[tuple[tuple[float, float], dict[str, float]]] = []
    for metric, values in by_metric.items():
        for step, told in zip(_steps(metric, values, log), values, strict=True):
            row = moments.setdefault((told.time, step), {})
            if metric in row:
                repeats.append(((told.time, step), {metric: told.value}))
            else:
                row[metric] = told.value
    for (_, step), row in sorted([*moments.items(), *repeats], key=lambda item: item[0]):
        log.add({**row, "global_step": step})
    return assemble(log)


def _steps(metric: str, values: list[Logged], log: Log) -> list[float]:
    """Give the steps; where ``step=`` was never passed, the order of the times."""
    times = [told.time for told in values]
    if len(values) < 2 or any(told.step != 0 for told in values) or times[0] == times[-1]:
        return [told.step for told in values]
    log.aside(metric, "every row says step 0, used the order of timestamps")
    return [i * (log.ask.step_every or 1.0) for i in range(len(values))]


def all_runs(source: str, runs: Mapping[str, tuple[str, Found | NoCurveError]]) -> Found:
    """Put the runs of a store together: run id to (name, what was found)."""
    found, without = Found(), []
    names = [name for name, _ in runs.values()]
    for run_id, (name, told) in runs.items():
        if isinstance(told, NoCurveError):
            without.append(name)
            continue
        for run in told.runs:
            run.joins = "never"
            if names.count(name) > 1:  # names of runs need not differ in MLflow
                run.name = f"{name} ({run_id[:8]})"
        found.runs += told.runs
        found.warnings += told.warnings
        found.notes += told.notes
    if without and not found.runs:
        raise NoCurveError(f"{source}: no eval metric in any of its runs ({some(without)})")
    if without:
        found.notes.append(f"{source}: no eval metric in run {some(without)}")
    return found
