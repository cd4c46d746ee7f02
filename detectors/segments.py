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


class Grown(NamedTuple):
    """Segments of length 1, 2, ... after an observation, and their probabilities (sum to 1)."""

    segments: Segments
    p: FloatArray


@dataclass(frozen=True, slots=True)
class SegmentModel:
    """Hazard and prior, see `evalstop.detectors.zoo.bocpd.Bocpd`."""

    hazard: float
    max_length: int
    mu: float
    kappa: float
    alpha: float
    beta: float

    def init(self, n_runs: int) -> Segments:
        """Give the segment that has no observation yet."""
        first = (0.0, self.mu, self.beta, np.nan)
        return Segments(*(np.full((1, n_runs), value) for value in first))

    def grow(self, segments: Segments, x: FloatArray, n_seen: FloatArray) -> Grown:
        """Let each segment take one more observation.

        Parameters
        ----------
        segments : Segments
            Of lengths 0, 1, ...; what is there for lengths above `n_seen` does not matter.
        x : array (n_runs,)
            The observation.
        n_seen : array (n_runs,)
            Observations of each run before it.
        """
        longest = n_seen.max(initial=0)
        m = int(min(longest, self.max_length)) + 1
        segments = Segments(*(part[:m] for part in segments))
        if n_seen.min(initial=longest) < longest:
            unreached, never = np.arange(m)[:, None] > n_seen, (-np.inf, self.mu, self.beta, np.nan)
            filled = zip(segments, never, strict=True)
            segments = Segments(*(np.where(unreached, value, part) for part, value in filled))
        log_p, mu, beta, before = segments
        kappa, alpha, constant = tables(self, m)
        deviation = x - mu
        new_beta = beta + kappa / (2 * (kappa + 1)) * deviation**2
        # the density of Student's t with 2 alpha degrees of freedom
        log_p = log_p + constant - np.log(beta) / 2 - (alpha + 0.5) * np.log(new_beta / beta)
        log_p -= log_p.max(axis=0)
        p = np.exp(log_p)
        evidence = total(p)
        p /= evidence
        log_p -= np.log(evidence)
        return Grown(Segments(log_p, mu + deviation / (kappa + 1), new_beta, before), p)

    def turn(self, grown: Grown) -> Segments:
        """Let each segment go on, or end with the chance `hazard`: lengths 0, 1, ..."""
        kept, p = grown
        born = (np.log(self.hazard), self.mu, self.beta, total(p * kept.mu))
        if len(p) > self.max_length:
            kept = self._merged(kept)
        kept = kept._replace(log_p=kept.log_p + np.log1p(-self.hazard))
        n, n_runs = kept.log_p.shape
        turned = Segments(*(np.empty((n + 1, n_runs)) for _ in kept))
        for rows, first, rest in zip(turned, born, kept, strict=True):
            rows[0], rows[1:] = first, rest
        return turned

    def log_odds_below(self, grown: Grown) -> FloatArray:
        """Give the log-odds that the current segment's mean is below the mean before it.

        ``(n_runs,)``; ``-inf`` if there is no segment before for any length.
        """
        (_, mu, beta, before), p = grown
        kappa, alpha, _ = tables(self, len(p) + 1)
        # the mean is Student's t about mu with variance of order beta / (alpha kappa)
        gap = (before - mu) * np.sqrt(kappa[1:] / (2 * beta))
        below = p * np.fmax(student_cdf(2 * alpha[1:, 0], gap), 0.0)  # 0: no segment before
        with np.errstate(divide="ignore"):
            odds: FloatArray = np.log(total(below)) - np.log(np.maximum(total(p - below), 1e-16))
        return odds

    def _merged(self, segments: Segments) -> Segments:
        """Merge the two longest segments: there is no room for a longer one.

        The more probable of the two speaks for both; the longer one has one observation more than
        the longest length and must not count it.
        """
        shape = self.alpha + self.max_length / 2
        faded = segments.beta.copy()
        faded[-1] *= shape / (shape + 0.5)
        segments = segments._replace(beta=faded)
        longer = segments.log_p[-1] >= segments.log_p[-2]
        merged = [np.where(longer, part[-1], part[-2]) for part in segments]
        merged[0] = np.logaddexp(segments.log_p[-1], segments.log_p[-2])
        parts = zip(segments, merged, strict=True)
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
    if rows.shape[1] < 64:
        few: FloatArray = np.add.accumulate(rows, axis=0)[-1]
        return few
    many: FloatArray = rows[0].copy()
    for row in rows[1:]:  # the same sums, without the partial ones
        many += row
    return many
