"""A cell: the smallest unit of a study, named by what it is, computed from nothing else.

A cell is one *contender* (a detector at a threshold, a scheduler with a stop rule) on one
*workload* (runs, a cluster with its jobs), in one repetition. Its id is a hash of all settings, the
seed and `SCHEMA`; its random numbers depend on the workload, the seed and the repetition alone.
Hence contenders that are compared meet the very same runs (common random numbers), and a result
depends on neither the order of the work nor the number of workers.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from inspect import isfunction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from evalstop.detectors.settings import name_of, write
from evalstop.errors import UserError

# Raised when stored results no longer mean what the code now computes.
SCHEMA = 1


class Workload(Protocol):
    """What contenders share: a frozen config that makes it."""

    def make(self, seeds: np.random.SeedSequence) -> Any:  # noqa: ANN401 - what its contenders read
        """Make the runs or jobs; the same seeds give the same, bit for bit."""


class Contender(Protocol):
    """What is compared: a frozen config that is measured on a workload."""

    def measure(self, made: Any) -> Mapping[str, float]:  # noqa: ANN401 - what the workload made
        """Give its numbers on what the workload made; it must leave that as it was."""


@dataclass(frozen=True)
class Cell:
    """One contender on one workload, once.

    Parameters
    ----------
    workload : Workload
        Frozen dataclass with everything that makes the runs, but the seed.
    contender : Contender
        Frozen dataclass with everything that is compared.
    seed : int
        Seed of the study.
    repeat : int
        Which repetition, from 0; the runs of each are drawn afresh.
    """

    workload: Workload
    contender: Contender
    seed: int
    repeat: int

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that the result depends on, as JSON."""
        return {
            "schema": SCHEMA,
            "workload": describe(self.workload),
            "contender": describe(self.contender),
            "seed": self.seed,
            "repeat": self.repeat,
        }

    @cached_property
    def id(self) -> str:
        """Hash of the identity: the name of the result's file."""
        return _digest(self.identity)[:20]

    @cached_property
    def stream(self) -> str:
        """Hash of what compared cells share; their random numbers are keyed by it."""
        return _digest([self.identity[part] for part in ("workload", "seed", "repeat")])


def describe(config: object) -> dict[str, Any]:
    """Give the name of a frozen config and all its settings, the defaults too, as text."""
    told: dict[str, Any] = {"name": name_of(config)}
    source = source_of(type(config))  # type: ignore[arg-type] # mypy: is a class hashable?
    if source:
        told["source"] = source
    for field in fields(config) if is_dataclass(config) else ():
        value = getattr(config, field.name)
        told[field.name] = _tell(value)
    return told


def _tell(value: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, tuple) and any(map(is_dataclass, value)):
        return [_tell(part) for part in value]
    return describe(value) if is_dataclass(value) else write(value)


@cache
def source_of(cls: type) -> str:
    """Give the hash of the files whose edit voids the results of a class.

    Of a class that is not ours, the file that defines it. Of ours, the numbers that it names in
    `numbers`, a path; empty without: there `SCHEMA` says when results change their meaning.
    """
    if cls.__module__.startswith("evalstop."):
        files = {cls.numbers} if hasattr(cls, "numbers") else set()
    else:
        files = {f.__code__.co_filename for f in vars(cls).values() if isfunction(f)}
    texts = sorted(Path(file).read_text("utf-8") for file in files if Path(file).is_file())
    return _digest(texts)[:20] if texts else ""


def compute(cells: list[Cell]) -> list[dict[str, float]]:
    """Measure cells of one stream; their workload is made once."""
    made = cells[0].workload.make(np.random.SeedSequence(int(cells[0].stream, 16)))
    results = []
    for cell in cells:
        try:
            numbers = cell.contender.measure(made)
        except UserError:
            raise
        except Exception as error:
            told = f"{cell.contender} on {cell.workload} fails with {error!r}"
            raise UserError(f"{told}; mend it, finished cells are saved") from error
        results.append({name: float(value) for name, value in numbers.items()})
    return results


def _digest(told: object) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
