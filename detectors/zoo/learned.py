"""Learned: a small network's log-odds that the true peak has passed.

The statistic is the output of a network that reads causal features of the scores so far (see
`evalstop.detectors.features`). It was trained on millions of evals of made-up runs of random
worlds, first to give the log-odds, but for a constant, that a run is past its peak among runs *of
the same world*; then to save much by its alarms, at a threshold for each world and at one for a few
of them. The script is ``evalstop.studies.learning``, its weights are the numbers in
``learned.json``.

With ``scale=free`` a metric may have any unit: scores times ten give the same statistic. With
``scale=unit`` the rule also knows how large a change is, which is worth something where scores are
in [0, 1] and use most of it.

Where it fails: on what its training did not hold. It knows the last `WINDOW` evals and smoothed
scores, not the whole curve; correlated noise looks like a decline to it, if less than to others;
and nobody can say in a sentence why it stopped a run.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.3, 0.5, 0.6, 0.5, 0.4, 0.3], [0.3, 0.5, 0.55, 0.6, 0.63, 0.65]])
>>> first_alarm(scan(Learned(), runs), threshold=0)
array([ 5, -1])
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.features import Memory, features, no_memory, remember
from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.settings import check_settings, setting

LEAK = 0.1
BLOCK = 512  # runs whose hidden layer stays in the cache


class Layer(NamedTuple):
    """``weights (n_outputs, n_inputs)`` and ``bias (n_outputs,)``."""

    weights: FloatArray
    bias: FloatArray


Network = tuple[Layer, ...]  # with a leaky rectifier between them


@dataclass(frozen=True, slots=True)
class Learned:
    """Watch the log-odds, as a network has learned them, that the true peak has passed.

    Parameters
    ----------
    scale : {"free", "unit"}
        Whether the metric may have any scale, or is a score in [0, 1].

    References
    ----------
    Kingma & Ba (2015), "Adam", arXiv:1412.6980 (the training); Cranmer, Brehmer & Louppe (2020),
    "The frontier of simulation-based inference", doi:10.1073/pnas.1912789117 (learning a
    likelihood ratio from simulations).
    """

    name: ClassVar[str] = "learned"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    # Other numbers make another rule: studies name its results by them too.
    numbers: ClassVar[str] = str(Path(__file__).parents[1] / "learned.json")
    scale: str = setting("free", choices=("free", "unit"), doc="any scale, or scores in [0, 1]")

    def __post_init__(self) -> None:
        check_settings(self)

    def init(self, n_runs: int) -> Memory:
        """Start without a score."""
        return no_memory(n_runs)

    def step(self, state: Memory, observation: Observation) -> tuple[Memory, FloatArray]:
        """Remember the score, and ask the network."""
        assert observation.score is not None
        state = remember(state, observation.score)
        free, unit = features(state)
        read = free if self.scale == "free" else np.concatenate([free, unit])
        odds = log_odds(networks()[self.scale], read)
        return state, np.where(state.noise.n_seen < 2, -np.inf, odds)


@cache
def networks() -> dict[str, Network]:
    """Read the weights, one network for each `scale`."""
    text = Path(Learned.numbers).read_text(encoding="utf-8")
    return {
        scale: tuple(Layer(np.array(weights), np.array(bias)) for weights, bias in told)
        for scale, told in json.loads(text)["networks"].items()
    }


def log_odds(network: Network, read: FloatArray) -> FloatArray:
    """Give the output of a network for features ``(n_features, n_runs)``.

    Products are summed in one order, whatever the number of runs (a matrix product would not), so
    that streaming equals scanning bit for bit.
    """
    odds = np.empty(read.shape[1])
    for start in range(0, len(odds), BLOCK):
        rows = slice(start, start + BLOCK)
        x = read[:, rows]
        for i, layer in enumerate(network):
            x = _product(layer, x if i == 0 else np.maximum(x, LEAK * x))
        odds[rows] = x[0]
    return odds


def _product(layer: Layer, x: FloatArray) -> FloatArray:
    total = np.repeat(layer.bias[:, None], x.shape[1], axis=1)
    part = np.empty_like(total)
    for column, values in zip(layer.weights.T, x, strict=True):
        total += np.multiply(column[:, None], values, out=part)
    return total
