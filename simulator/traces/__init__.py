"""Cluster traces: one header, one file; which one it is is seen from the header."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np

from evalstop.detectors.words import plural
from evalstop.errors import UserError
from evalstop.simulator.job import Job, Truth, Workload
from evalstop.simulator.traces.acme import ACME
from evalstop.simulator.traces.helios import HELIOS
from evalstop.simulator.traces.ours import OURS
from evalstop.simulator.traces.pai import PAI
from evalstop.simulator.traces.philly import PHILLY, read_log
from evalstop.simulator.traces.table import Entry, Format, rows
from evalstop.simulator.traces.tiresias import TIRESIAS

FORMATS: tuple[Format, ...] = (OURS, ACME, HELIOS, PAI, TIRESIAS, PHILLY)
"""The first whose columns are all there wins."""

LOSS_RATES = (2.0, 6.0)
"""A trace has no losses; each job's loss falls at a rate drawn from here (as in ``paper``)."""

LARGEST_ERROR = 5
"""Of estimates: beyond it they say nothing of the duration."""


def read_trace(
    path: Path | str,
    *,
    scale_gpus: Fraction | float = 1,
    estimate_error: float = 0.3,
    seed: int = 0,
) -> Workload:
    """Read the jobs of a trace.

    Parameters
    ----------
    path : path
        CSV of a known header, or the JSON job log of Philly.
    scale_gpus : Fraction or float
        Factor of every job's GPUs, rounded up to whole ones.
    estimate_error : float
        Sd of the log of estimate over true duration, between 0 and 5; a trace that states
        estimates keeps them.
    seed : int
        Of the estimates and the loss rates.

    Returns
    -------
    Workload
        Its notes say what was left out or rounded.

    Raises
    ------
    UserError
        With file, row and column.
    """
    path = Path(path)
    if not 0 < scale_gpus < float("inf"):
        raise UserError(f"--scale-gpus: it must be positive, got {scale_gpus}")
    if not 0 <= estimate_error <= LARGEST_ERROR:
        raise UserError(
            f"--estimate-error: it must be between 0 and {LARGEST_ERROR}, got {estimate_error}"
        )
    found: dict[str, Entry] = {}
    left_out = 0
    for where, entry in _entries(path):
        if entry is None or not entry.gpus:
            left_out += 1
        elif not entry.id or entry.id in found:
            what = f"{entry.id!r} is there twice" if entry.id else "it is empty"
            raise UserError(f"{where}, column job_id: {what}, give every job a name of its own")
        else:
            found[entry.id] = entry
    if not found:
        raise UserError(f"{path}: no job in it ran on GPUs, give another trace")
    return _workload([*found.values()], Fraction(scale_gpus), estimate_error, seed, left_out)


def _entries(path: Path) -> Iterator[tuple[str, Entry | None]]:
    """Give the entries of a file with where they stand."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: it cannot be read ({error.strerror}), check the path") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: it is no text, give a CSV or JSON trace") from None
    if text.lstrip()[:1] in ("[", "{"):
        yield from read_log(path, text)
        return
    for form, row in rows(path, text, FORMATS):
        yield row.where, form.read(row)


def _workload(
    entries: list[Entry], scale: Fraction, error: float, seed: int, left_out: int
) -> Workload:
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    factors = np.exp(error * rng.standard_normal(len(entries))).tolist()
    rates = rng.uniform(*LOSS_RATES, len(entries)).tolist()
    jobs, rounded = [], 0
    for e, factor in zip(entries, factors, strict=True):
        gpus = Fraction(e.gpus) * scale
        rounded += gpus.denominator != 1
        estimate = e.estimate
        if estimate is None:
            estimate = e.duration * factor if error else e.duration
        jobs.append(Job(e.id, e.submit, ceil(gpus), estimate, e.type, e.tenant))
    truths = [Truth(e.duration, rate) for e, rate in zip(entries, rates, strict=True)]
    notes = []
    if left_out:
        notes.append(f"left out: {plural(left_out, 'job')} without GPUs or without a duration")
    if rounded:
        notes.append(
            f"rounded up, GPUs are not shared: {plural(rounded, 'job')} with a part of a GPU"
        )
    return Workload(jobs, truths, tuple(notes))
