"""A search that costs nothing, run by a process that is killed again and again.

``python toy_search.py STORAGE SAMPLER TRIALS KILLS SEED`` prints the kills and the trials of each
search; the seed is that of the moments.
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
    """Kill so often, whatever the speed of the machine: a search that is through is begun anew."""
    rng = np.random.default_rng(int(seed))
    killed, found = 0, []
    while killed < int(kills):
        place, through = f"{storage}-{len(found)}", False
        while killed < int(kills) and not through:
            child = os.fork()
            if child == 0:
                search(place, sampler, int(trials))
                os._exit(0)
            time.sleep(rng.uniform(0, 0.15))
            os.kill(child, signal.SIGKILL)
            through = os.WIFEXITED(os.waitpid(child, 0)[1])
            killed += not through
        found.append(search(place, sampler, int(trials)))
    print(json.dumps([killed, found]))


if __name__ == "__main__":
    main(*sys.argv[1:])
