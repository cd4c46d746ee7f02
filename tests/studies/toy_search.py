"""A search that costs nothing, run by a process that is killed again and again.

``python toy_search.py STORAGE SAMPLER TRIALS KILLS SEED`` prints the trials; the seed is that of
the moments.
"""

import json
import os
import signal
import sys
import time

import numpy as np

from evalstop.studies.tuning.space import Axis
from evalstop.studies.tuning.storage import open_storage
from evalstop.studies.tuning.trials import Measured, Search

AXES = (
    Axis("x", 0.001, 1.0, log=True),
    Axis("k", 1, 9, integer=True),
    Axis("form", choices=("round", "flat")),
)
GRID = [{"x": x, "k": k, "form": "flat"} for x in (0.1, 0.5) for k in range(1, 10)]


def measure(settings):
    time.sleep(0.005)
    found = []
    for p in settings:
        value = -((np.log10(p["x"]) + 1.3) ** 2) - (p["k"] - 6) ** 2 / 9 - (p["form"] == "flat")
        found.append(Measured([float(value), float(p["x"] * p["k"])], {"k": p["k"]}))
    return found


def single(settings):
    return [Measured(m.values[:1], m.told) for m in measure(settings)]


def search(storage, sampler, trials, measured=None):
    """Run it; give what the trials were."""
    several = sampler == "nsga2"
    directions = ("maximize", "minimize") if several else ("maximize",)
    points = GRID if sampler == "grid" else None
    asked = Search("toy", AXES, points, directions, sampler, seed=3)
    default = measure if several else single
    with open_storage(storage) as opened:
        told = asked.run(opened, trials, measured or default)
    return [[t.number, t.params, t.values, t.told] for t in told]


def main(storage, sampler, trials, kills, seed):
    rng = np.random.default_rng(int(seed))
    killed = 0
    while killed < int(kills):
        child = os.fork()
        if child == 0:
            search(storage, sampler, int(trials))
            os._exit(0)
        time.sleep(rng.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):  # it was through before
            break
        killed += 1
    print(json.dumps([killed, search(storage, sampler, int(trials))]))


if __name__ == "__main__":
    main(*sys.argv[1:])
