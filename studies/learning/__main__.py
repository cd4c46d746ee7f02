"""Learn the weights of the member ``learned``: ``python -m evalstop.studies.learning free|unit``.

Draws the examples, fits the network, chooses the linear terms, says what it saves on validation
worlds (seeds of their own), and writes the numbers into ``detectors/learned.json``. Each of the two
scales takes about ten minutes on one core and 6 GB of memory; the seeds are in this file.
"""

import json
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np

from evalstop.detectors.features import features, no_memory, remember, rows_of
from evalstop.studies.learning.examples import draw_examples
from evalstop.studies.learning.fit import fit
from evalstop.studies.learning.tune import draw_cells, flat_noise, judge, saved, search, worlds

SEEDS = {"examples": 20261130, "fit": 1, "tune": 5151, "search": 0, "validate": 4242}
WORLDS, RUNS, EPOCHS, GENERATIONS = 3000, 150, 2, 60
GAO = 0.3
# Metrics of any scale are those of real runs, where healthy runs often stay where they are.
FLAT = {"free": 0.15, "unit": 0.0}
# A search finds what helps in its own worlds; how much of it helps in others says validation.
SHRINK = {"free": 0.5, "unit": 1.0}
TERMS = {
    "free": ("falls/sigma", "falls/spread", "course"),
    "unit": ("falls/sigma", "falls/spread", "course", "falls", "scale"),
}


def main(scale: str) -> None:
    """Learn one of the two networks."""
    path = Path(str(files("evalstop.detectors") / "learned.json"))
    free, _ = features(remember(no_memory(1), np.zeros(1)))
    columns = np.arange(len(free)) if scale == "free" else rows_of()
    terms = rows_of(*TERMS[scale])
    layers = fit(
        draw_examples(SEEDS["examples"], WORLDS, RUNS, gao=GAO, flat=FLAT[scale]),
        columns,
        SEEDS["fit"],
        EPOCHS,
    )
    weights = np.zeros(len(terms))
    for step in ("tune", "validate"):
        seed, judged = SEEDS[step], (layers, columns, terms)
        cells = draw_cells(worlds(seed, flat=FLAT[scale]), *judged, seed)
        flat = judge(flat_noise(seed), *judged) if scale == "free" else None
        print(scale, step, "network alone:", saved(cells, flat, np.zeros(len(terms))), flush=True)
        if step == "tune":
            weights = SHRINK[scale] * search(cells, flat, len(terms), SEEDS["search"], GENERATIONS)
        print(scale, step, "with terms:", saved(cells, flat, weights), flush=True)

    linear = np.zeros(len(columns))
    linear[terms] = weights
    told = json.loads(path.read_text(encoding="utf-8"))
    told["networks"][scale] = {
        "layers": [
            [[_short(row) for row in layers[i].T], _short(layers[i + 1])]
            for i in range(0, len(layers), 2)
        ],
        "linear": _short(linear),
    }
    path.write_text(json.dumps(told) + "\n", encoding="utf-8")


def _short(values: np.ndarray) -> list[float]:
    """Give five digits of each number: the file stays small, the statistic the same to 1e-3."""
    return [float(f"{value:.5g}") for value in values]


if __name__ == "__main__":
    main(sys.argv[1])
