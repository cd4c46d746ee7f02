"""What workers and storages cost: ``python -m evalstop.studies.speed [OPTUNA_URL ...]``.

Cells that compute nothing show what a cell costs wherever it is computed: its file, its way to a
worker and back. Trials that measure nothing show what a trial costs in each storage; URLs add some.
The dask cluster is two processes of this machine on loopback.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from evalstop.benchmarks.timing import Row, best_of, report
from evalstop.studies.backends import workers
from evalstop.studies.cell import Cell
from evalstop.studies.runner import run
from evalstop.studies.store import Store
from evalstop.studies.tuning.space import Axis, Params
from evalstop.studies.tuning.storage import open_storage
from evalstop.studies.tuning.trials import Measured, Search

CELLS, SHARED = 400, 25  # cells, and how many of them share their runs
TRIALS = 96
LIMIT_CELL, LIMIT_TRIAL = 0.02, 0.2  # seconds


@dataclass(frozen=True)
class Nothing:
    """A workload of no size."""

    number: int

    def make(self, seeds: np.random.SeedSequence) -> None:
        """Make nothing."""


@dataclass(frozen=True)
class Idle:
    """A contender that does nothing."""

    number: int

    def measure(self, made: None) -> Mapping[str, float]:
        """Give a number."""
        return {"number": float(self.number)}


def cells(share: int) -> list[Cell]:
    """Give cells of which so many travel together, because they share their runs."""
    return [Cell(Nothing(i // share), Idle(i % share), 0, 0) for i in range(CELLS)]


@contextmanager
def loopback() -> Iterator[str]:
    """Start a dask cluster of two processes; give the address of its scheduler."""
    from distributed import LocalCluster

    with (
        warnings.catch_warnings(),
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
    ):
        yield cluster.scheduler_address


def per_cell(what: str, n_workers: int) -> list[Row]:
    """Time cells that travel alone and cells that travel together, each time afresh."""
    rows = []
    for share, how in ((1, "alone"), (SHARED, f"{SHARED} together")):

        def once(share: int = share) -> None:
            with tempfile.TemporaryDirectory() as folder:
                run(cells(share), Store(folder), jobs=n_workers)

        once()  # workers are warm from the second time on
        rows.append(Row(f"a cell, {how}, {what}", best_of(once, 3) / CELLS, LIMIT_CELL))
    return rows


def per_trial(storage: str | Path) -> float:
    """Time trials that measure nothing."""
    search = Search("speed", (Axis("x", 0.0, 1.0),), None, ("maximize",), "tpe", 0)

    def measure(settings: Sequence[Params]) -> list[Measured]:
        return [Measured([float(p["x"])], {}) for p in settings]

    def once() -> None:
        with open_storage(storage) as opened:
            search.run(opened, TRIALS, measure)

    return best_of(once, 1) / TRIALS


def main(urls: Sequence[str]) -> int:
    """Print both tables."""
    rows = per_cell("this process", 1)
    with workers(jobs=2) as n_workers:
        rows += per_cell("2 processes", n_workers)
    with loopback() as address, workers("dask", address) as n_workers:
        rows += per_cell("2 dask workers", n_workers)
    with tempfile.TemporaryDirectory() as folder:
        storages: dict[str, Callable[[], float]] = {
            "journal": lambda: per_trial(Path(folder) / "journal"),
            "sqlite": lambda: per_trial(f"sqlite:///{folder}/trials.db"),
            **{url.partition(":")[0]: partial(per_trial, url) for url in urls},
        }
        rows += [Row(f"a trial, {name}", once(), LIMIT_TRIAL) for name, once in storages.items()]
    return report("What workers and storages cost", rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
