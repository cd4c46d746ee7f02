"""Proxy gap: the proxy reward goes on rising while the score has not.

The signature of reward hacking. Since the eval with the best score so far,

    (rise of the proxy) / (noise of the proxy) - (rise of the score) / (noise of the score)

both noises estimated from the values so far; 0 while the score is at its best.

Where it fails: without a logged proxy reward; and when the proxy is flat too, it sees only half of
the evidence that a drawdown over its noise would see.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> score = [[0.5, 0.6, 0.58, 0.5, 0.4], [0.5, 0.6, 0.58, 0.65, 0.7]]
>>> proxy = [[1.0, 1.5, 2.1, 2.4, 3.0]] * 2
>>> first_alarm(scan(ProxyGap(), Runs.of(score, proxy=proxy)), threshold=8)
array([ 4, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.noise import NoiseState, add_noise, no_noise, noise_of, standardised
from evalstop.detectors.observation import FloatArray, Observation


class State(NamedTuple):
    """Best score so far and the proxy there, ``(n_runs,)`` each; the noise of both."""

    best: FloatArray
    proxy_at_best: FloatArray
    score_noise: NoiseState
    proxy_noise: NoiseState


@dataclass(frozen=True, slots=True)
class ProxyGap:
    """Watch how far proxy reward and score have come apart since the best score.

    References
    ----------
    Gao, Schulman & Hilton (2023), "Scaling laws for reward model overoptimization",
    arXiv:2210.10760.
    """

    name: ClassVar[str] = "proxy-gap"
    inputs: ClassVar[tuple[str, ...]] = ("score", "proxy")

    def init(self, n_runs: int) -> State:
        """Start without a best score."""
        return State(np.full(n_runs, -np.inf), np.zeros(n_runs), no_noise(n_runs), no_noise(n_runs))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Compare both with where they were at the best score."""
        score, proxy = observation.score, observation.proxy
        assert score is not None
        assert proxy is not None
        score_noise = add_noise(state.score_noise, score)
        proxy_noise = add_noise(state.proxy_noise, proxy)
        better = score > state.best
        best = np.where(better, score, state.best)
        proxy_at_best = np.where(better, proxy, state.proxy_at_best)
        rise = standardised(proxy - proxy_at_best, noise_of(proxy_noise))
        gap = rise - standardised(score - best, noise_of(score_noise))
        return State(best, proxy_at_best, score_noise, proxy_noise), gap
