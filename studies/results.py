"""Run a study, and keep what it gave: a table of cells, in CSV and Parquet."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from evalstop.detectors.settings import write
from evalstop.detectors.storage import write_atomically
from evalstop.errors import UserError
from evalstop.studies.grid import Placed, kind_of, place
from evalstop.studies.provenance import provenance
from evalstop.studies.runner import run
from evalstop.studies.store import Numbers, Store
from evalstop.studies.study import Study


@dataclass(frozen=True, eq=False)
class Results:
    """A study with its numbers.

    Parameters
    ----------
    study : Study
        What was asked.
    seed : int
        Seed of the study.
    frame : DataFrame
        One row for each cell, in the order of the study: ``point``, the labels of its parts and
        axes, ``repeat``, all scores, ``cell`` (its id).
    folder : Path
        Where they are saved.
    """

    study: Study
    seed: int
    frame: pd.DataFrame
    folder: Path

    @property
    def scores(self) -> tuple[str, ...]:
        """Scores that are shown."""
        return self.study.scores or kind_of(self.study).shown

    def varying(self) -> list[str]:
        """Give the labels, detector and threshold aside, that take more than one value."""
        kind = kind_of(self.study)
        stay = {"point", "repeat", "cell", "detector", "threshold", *kind.scores}
        labels = [c for c in self.frame.columns if c not in stay]
        return [label for label in labels if self.frame[label].nunique() > 1]


def run_study(  # noqa: PLR0913 - what to compute, where, and how
    study: Study,
    out: Path,
    *,
    seed: int = 0,
    jobs: int = 1,
    point: int | None = None,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Results:
    """Compute what is missing of a study and save it: cells, ``results.csv`` and ``.parquet``.

    Parameters
    ----------
    study : Study
        What to compute.
    out : Path
        Folder of the results; its ``cells/`` are the cache, and where an interrupted study goes on.
    seed : int
        Seed of everything random, at least 0.
    jobs : int
        Worker processes.
    point : int, optional
        Only this point of the study (``noise/3``); its results are in a folder of that number.
    advance : callable
        Told how many cells are done, of how many.

    Raises
    ------
    UserError
        If the study is wrong, or has no such point.
    """
    if seed < 0:
        raise UserError(f"seed: must be at least 0, got {seed}")
    placed = place(study, seed)
    if point is not None:
        last = placed[-1].point
        placed = [p for p in placed if p.point == point]
        if not placed:
            raise UserError(
                f"{study.name}/{point}: there is no such point, they go from 0 to {last}"
            )
    numbers = run([p.cell for p in placed], Store(out / "cells"), jobs=jobs, advance=advance)
    folder = out if point is None else out / str(point)
    results = Results(study, seed, _frame(placed, numbers), folder)
    _save(results)
    return results


def _frame(placed: Sequence[Placed], numbers: Sequence[Numbers]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "point": p.point,
            **{label: write(v) if isinstance(v, tuple) else v for label, v in p.labels.items()},
            "repeat": p.cell.repeat,
            **found,
            "cell": p.cell.id,
        }
        for p, found in zip(placed, numbers, strict=True)
    )


def _save(results: Results) -> None:
    told = {
        "study": results.study.told(),
        "shown": list(results.scores),
        "seed": results.seed,
        "cells": len(results.frame),
    }
    write_results(results.folder, told, results.frame)


def write_results(folder: Path, told: Mapping[str, Any], frame: pd.DataFrame) -> None:
    """Write ``study.json`` and the table, the same bytes for the same results.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    told, frame : mapping, DataFrame
        See `evalstop.studies.tracking` for what makes them trackable.
    """
    write_atomically(folder / "study.json", json.dumps({**told, **provenance()}, indent=1) + "\n")
    write_atomically(folder / "results.csv", frame.to_csv(index=False))
    parquet = io.BytesIO()
    frame.to_parquet(parquet, index=False, engine="pyarrow")
    write_atomically(folder / "results.parquet", parquet.getvalue())
