"""Learn the weights of the member ``learned``: ``python -m evalstop.studies.learning free|unit``.

Draws the examples, fits a network to evals, then to alarms, writes the numbers into
``detectors/learned.json``, and says what it saves on validation worlds (seeds of their own). Each
of the two scales takes about six minutes on one core and 3 GB of memory; the seeds are in this
file.
"""

import json
import sys
from pathlib import Path

import numpy as np

from evalstop.detectors import Runs, scan
from evalstop.detectors.features import features, no_memory, remember
from evalstop.detectors.zoo.learned import Learned, networks
from evalstop.studies.learning.examples import draw_examples
from evalstop.studies.learning.fit import fit, sharpen
from evalstop.studies.learning.network import Array
from evalstop.studies.learning.validate import validate, worlds

SEEDS = {"examples": 20261205, "fit": 1, "sharpen": 2, "validate": 4242}
FAMILIES, SIZE, RUNS = 1000, 6, 150
EVAL_EPOCHS, ALARM_EPOCHS = 1, 3


def main(scale: str) -> None:
    """Learn one of the two networks."""
    free, unit = features(remember(no_memory(1), np.zeros(1)))
    columns = np.arange(len(free) if scale == "free" else len(free) + len(unit))
    examples = draw_examples(SEEDS["examples"], FAMILIES, SIZE, RUNS)
    network = fit(examples, columns, SEEDS["fit"], EVAL_EPOCHS)
    sharpen(network, examples, columns, SEEDS["sharpen"], ALARM_EPOCHS)
    write(scale, network.parameters)
    networks.cache_clear()
    seed = SEEDS["validate"]
    print(validate(lambda score: scan(Learned(scale), Runs(score)), worlds(seed), seed))


def write(scale: str, layers: list[Array]) -> None:
    """Write the weights, with five digits: the file stays small, the statistic the same to 1e-3."""
    path = Path(Learned.numbers)
    told = json.loads(path.read_text(encoding="utf-8"))
    told["networks"][scale] = [
        [[_short(row) for row in layers[i].T], _short(layers[i + 1])]
        for i in range(0, len(layers), 2)
    ]
    path.write_text(json.dumps(told) + "\n", encoding="utf-8")


def _short(values: Array) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


if __name__ == "__main__":
    main(sys.argv[1])
