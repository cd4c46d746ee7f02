"""Segments of constant mean and variance: the exact posterior of the current one's length.

The recursion of Bayesian online changepoint detection for normal observations with a
normal-inverse-gamma prior and a constant hazard, over many runs at once, in log space. Arrays have
one row for each length of the current segment and one column for each run.

References
----------
Adams & MacKay (2007), "Bayesian online changepoint detection", arXiv:0710.3742; Murphy (2007),
"Conjugate Bayesian analysis of the Gaussian distribution".
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.student import student_cdf


class Segments(NamedTuple):
    """What is known for each length of the current segment, ``(n_lengths, n_runs)`` each.

    Its log-probability, the mean and beta of its posterior, and the mean of the segment before it
    (posterior mean when that ended, NaN if there is none).
    """

    log_p: FloatArray
    mu: FloatArray
    beta: FloatArray
    before: FloatArray


@dataclass(frozen=True, slots=True)
class SegmentModel:
    """Hazard and prior, see `evalstop.detectors.zoo.bocpd.Bocpd`."""

    hazard: float
    max_length: int
    mu: float
    kappa: float
    alpha: float
    beta: float

    @property
    def unreached(self) -> tuple[float, float, float, float]:
        """Values of a length that no run has reached."""
        return -np.inf, self.mu, self.beta, np.nan

    def init(self, n_runs: int) -> Segments:
        """Give the segment that has no observation yet."""
        shape = (self.max_length + 1, n_runs)
        segments = Segments(*(np.full(shape, value) for value in self.unreached))
        segments.log_p[0] = 0
        return segments

    def grow(self, segments: Segments, x: FloatArray, longest: int) -> Segments:
        """Give the segments of length 1, 2, ... after one more observation, probabilities sum to 1.

        Parameters
        ----------
        segments : Segments
            Of lengths 0..max_length.
        x : array (n_runs,)
            The observation.
        longest : int
            Largest length that any run has reached before it.
        """
        m = min(longest, self.max_length) + 1
        log_p, mu, beta, before = (part[:m] for part in segments)
        kappa, alpha, constant = tables(self, m)
        deviation = x - mu
        new_beta = beta + kappa / (2 * (kappa + 1)) * deviation**2
        # the density of Student's t with 2 alpha degrees of freedom
        log_density = constant - np.log(beta) / 2 - (alpha + 0.5) * np.log(new_beta / beta)
        log_p = log_p + log_density
        log_p -= log_p.max(axis=0)
        log_p -= np.log(total(np.exp(log_p)))
        return Segments(log_p, mu + deviation / (kappa + 1), new_beta, before)

    def turn(self, grown: Segments) -> Segments:
        """Let each segment go on, or end with the chance `hazard`: lengths 0..max_length."""
        kept = self._merged(grown) if len(grown.log_p) > self.max_length else grown
        kept = kept._replace(log_p=kept.log_p + np.log1p(-self.hazard))
        born = (np.log(self.hazard), self.mu, self.beta, total(np.exp(grown.log_p) * grown.mu))
        segments = self.init(grown.log_p.shape[1])
        for rows, first, rest in zip(segments, born, kept, strict=True):
            rows[0], rows[1 : len(rest) + 1] = first, rest
        return segments

    def log_odds_below(self, grown: Segments) -> FloatArray:
        """Give the log-odds that the current segment's mean is below the mean before it.

        ``(n_runs,)``; ``-inf`` if there is no segment before for any length.
        """
        kappa, alpha, _ = tables(self, len(grown.log_p) + 1)
        # the mean is Student's t about mu with variance of order beta / (alpha kappa)
        gap = (grown.before - grown.mu) * np.sqrt(kappa[1:] / (2 * grown.beta))
        p = np.exp(grown.log_p)
        below = p * np.fmax(student_cdf(2 * alpha[1:, 0], gap), 0.0)  # 0: no segment before
        with np.errstate(divide="ignore"):
            odds: FloatArray = np.log(total(below)) - np.log(np.maximum(total(p - below), 1e-16))
        return odds

    def _merged(self, grown: Segments) -> Segments:
        """Merge the two longest segments: there is no room for a longer one.

        The more probable of the two speaks for both; the longer one has one observation more than
        the longest length and must not count it.
        """
        shape = self.alpha + self.max_length / 2
        faded = grown.beta.copy()
        faded[-1] *= shape / (shape + 0.5)
        grown = grown._replace(beta=faded)
        longer = grown.log_p[-1] >= grown.log_p[-2]
        merged = [np.where(longer, part[-1], part[-2]) for part in grown]
        merged[0] = np.logaddexp(grown.log_p[-1], grown.log_p[-2])
        parts = zip(grown, merged, strict=True)
        return Segments(*(np.concatenate([part[:-2], both[None]]) for part, both in parts))


@lru_cache(64)
def tables(model: SegmentModel, m: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give kappa, alpha and the constant of the density for lengths 0..m-1, as columns."""
    from scipy.special import gammaln

    length = np.arange(float(m))[:, None]
    kappa, alpha = model.kappa + length, model.alpha + length / 2
    gammas: FloatArray = gammaln(alpha + 0.5) - gammaln(alpha)
    return kappa, alpha, gammas - np.log(2 * np.pi * (kappa + 1) / kappa) / 2


def total(rows: FloatArray) -> FloatArray:
    """Sum over lengths in their order, so that one run and many agree bit for bit."""
    sums: FloatArray = np.add.accumulate(rows, axis=0)[-1]
    return sums
