"""Cells that cost nothing, for tests of everything around them.

As a program it runs them and prints their numbers: ``python toy_cells.py FOLDER JOBS``.
"""

import json
import sys
import time
from dataclasses import dataclass

import numpy as np

from evalstop.studies.cell import Cell
from evalstop.studies.runner import run
from evalstop.studies.store import Store


@dataclass(frozen=True)
class Sample:
    size: int

    def make(self, seeds):
        return np.random.default_rng(seeds).normal(size=self.size)


@dataclass(frozen=True)
class Quantile:
    at: float
    seconds: float = 0.0

    def measure(self, made):
        time.sleep(self.seconds)
        return {"quantile": np.quantile(made, self.at), "none": np.nan, "most": np.inf}


@dataclass(frozen=True)
class Failing:
    def measure(self, made):
        raise ZeroDivisionError("no quantile")


def cells(seconds=0.0, repeats=5, seed=0):
    return [
        Cell(Sample(size), Quantile(at, seconds), seed, repeat)
        for size in (5, 50)
        for at in (0.1, 0.5, 0.9)
        for repeat in range(repeats)
    ]


if __name__ == "__main__":
    folder, jobs = sys.argv[1:]
    numbers = run(cells(seconds=0.02), Store(folder), jobs=int(jobs))
    print(json.dumps([n["quantile"] for n in numbers]))
