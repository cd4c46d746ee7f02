"""Bayesian online changepoint detection: how likely the current segment lies below the last one.

Scores are segments of constant mean and variance (normal, with a normal-inverse-gamma prior); at
every eval a new segment begins with probability `hazard`. The posterior of the current segment's
length is kept exactly, in log space. With a constant hazard P(length = 0) is the hazard itself
whatever the scores say, so the statistic is another: the log-odds of

    sum over lengths P(length) P(mean of the current segment < mean of the segment before it)

over segments that have an eval; the mean before is its posterior mean when it ended, and a first
segment has none. Scores are standardised by the running mean and the noise of the evals so far.

Where it fails: a steady climb or fall is no segment of constant mean, so slopes are answered late;
each score is standardised by what was known at its eval, so the first few are on a scale of their
own.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.61, 0.59, 0.4, 0.41], [0.5, 0.6, 0.61, 0.59, 0.61, 0.6]])
>>> first_alarm(scan(Bocpd(), runs), threshold=0)
array([ 5, -1])
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalstop.detectors.noise import (
    NoiseState,
    add_noise,
    no_noise,
    noise_of,
    sigma_setting,
    standardised,
)
from evalstop.detectors.observation import FloatArray, Observation
from evalstop.detectors.segments import SegmentModel, Segments
from evalstop.detectors.settings import check_settings, setting


class State(NamedTuple):
    """Evals so far and their mean ``(n_runs,)``, the noise, and what is known for each length.

    The arrays of `segments` are ``(n_runs, n_lengths)``, at most ``max_run_length + 1`` wide.
    """

    n_seen: FloatArray
    average: FloatArray
    noise: NoiseState
    segments: Segments


@dataclass(frozen=True, slots=True)
class Bocpd:
    """Weigh all lengths of the current segment by their probability (BOCPD).

    Parameters
    ----------
    hazard : float
        Chance that a new segment begins after an eval, in (0, 1).
    max_run_length : int
        Longest length that is told apart, in evals; it stands for all longer ones, and its memory
        fades as that of so many evals.
    mean, sigma : float, optional
        What scores are standardised by; none = running mean and estimated noise.
    mu, kappa, alpha, beta : float
        Prior of a standardised segment: its mean is normal about `mu` with variance
        ``s^2 / kappa``, its variance ``s^2`` inverse-gamma with shape `alpha` and scale `beta`.

    References
    ----------
    Adams & MacKay (2007), "Bayesian online changepoint detection", arXiv:0710.3742.
    """

    name: ClassVar[str] = "bocpd"
    inputs: ClassVar[tuple[str, ...]] = ("score",)
    hazard: float = setting(
        0.05, low=1e-9, high=1 - 1e-9, tune=(0.005, 0.5), log=True, doc="chance of a new segment"
    )
    max_run_length: int = setting(50, low=2, unit="evals", doc="longest length told apart")
    mean: float | None = setting(None, unit="score", doc="level; none = running mean")
    sigma: float | None = sigma_setting()
    mu: float = setting(0.0, unit="sigma", doc="prior mean of a segment")
    kappa: float = setting(1.0, low=1e-6, tune=(0.05, 5), log=True, doc="evals behind mu")
    alpha: float = setting(1.0, low=1e-6, doc="prior shape of the variance")
    beta: float = setting(1.0, low=1e-6, tune=(0.1, 5), log=True, doc="prior scale of the variance")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def model(self) -> SegmentModel:
        """The model of standardised scores."""
        prior = (self.mu, self.kappa, self.alpha, self.beta)
        return SegmentModel(self.hazard, self.max_run_length, *prior)

    def init(self, n_runs: int) -> State:
        """Start with a segment that has no eval."""
        n_seen, average = np.zeros((2, n_runs))
        return State(n_seen, average, no_noise(n_runs), _turned(self.model.init(n_runs)))

    def step(self, state: State, observation: Observation) -> tuple[State, FloatArray]:
        """Let the segment of every length grow by one eval or end, and judge."""
        assert observation.score is not None
        n_seen, average, noise, score = self._standardise(state, observation.score)
        grown = self.model.grow(_turned(state.segments), score, state.n_seen)
        segments = _turned(self.model.turn(grown))
        return State(n_seen, average, noise, segments), self.model.log_odds_below(grown)

    def run_length_posterior(self, scores: ArrayLike) -> FloatArray:
        """Give P(length of the current segment) after every eval of one run.

        Parameters
        ----------
        scores : array (n_evals,)
            Scores without missing values; with ``mean=0, sigma=1`` they are taken as they are.

        Returns
        -------
        array (n_evals, max_run_length + 1)
            Row t is the posterior after eval t; length 0 = a new segment begins after it.
        """
        scores = np.asarray(scores, dtype=float)[:, None]
        state, posterior = self.init(1), np.zeros((len(scores), self.max_run_length + 1))
        for score, row in zip(scores, posterior, strict=True):
            state, _ = self.step(state, Observation(score=score))
            reached = np.exp(state.segments.log_p[0])
            row[: len(reached)] = reached
        return posterior

    def _standardise(
        self, state: State, score: FloatArray
    ) -> tuple[FloatArray, FloatArray, NoiseState, FloatArray]:
        """Count the eval, and measure it by all evals up to it."""
        n_seen, average, noise = state.n_seen + 1, state.average, state.noise
        level: FloatArray | float
        if self.mean is None:
            level = average = average + (score - average) / n_seen
        else:
            level = self.mean
        if self.sigma is not None:
            return n_seen, average, noise, standardised(score - level, self.sigma)
        noise = add_noise(noise, score)
        return n_seen, average, noise, standardised(score - level, noise_of(noise))


def _turned(segments: Segments) -> Segments:
    """Swap lengths and runs: states have the runs first, arithmetic along runs is faster."""
    return Segments(*(part.T for part in segments))
