"""Predict the next drop of a training loss from its history, as SLAQ does.

Two families cover first-order and faster methods: ``1 / (a k^2 + b k + c) + d`` and
``m^(k - b) + d``, k counting intervals. Given the floor d both are linear least squares after a
transformation, so d is searched over a few values below the smallest loss. Old values weigh less.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

MEMORY = 40
"""Only so many of the latest losses enter a fit."""
DECAY = 0.9
"""Weight of a loss against the one after it."""
FLOORS = np.array([0.02, 0.1, 0.3, 1.0, 3.0])
"""Candidate floors: below the smallest loss by these shares of the range seen."""


def predicted_drop(losses: Sequence[float]) -> float:
    """Predict the next drop of the loss, as a share of the largest drop so far.

    Parameters
    ----------
    losses : sequence of float
        One for each interval, oldest first.

    Returns
    -------
    float
        In [0, 1]; 1 while fewer than four losses are known or none has fallen.
    """
    known = np.asarray(losses[-MEMORY:], dtype=float)
    largest = max((a - b for a, b in pairwise(losses)), default=0.0)
    if len(known) < 4 or largest <= 0:
        return 1.0
    now, after = _fitted(known)
    return float(min(max((now - after) / largest, 0.0), 1.0))


def _fitted(losses: np.ndarray) -> tuple[float, float]:
    """Give the best fit's loss at the last value and one interval later."""
    n = len(losses)
    weights = DECAY ** np.arange(n - 1, -1, -1)
    floors = losses.min() - FLOORS * np.ptp(losses)
    above = losses - floors[:, None]  # (floors, n), positive
    # a transformed value counts as much as its loss does: weights times the squared slope
    with np.errstate(all="ignore"):  # a fit that goes to infinity is a bad fit, not an error
        curves = np.concatenate(
            [
                floors[:, None] + 1 / _least_squares(1 / above, weights * above**4, 3),
                floors[:, None] + np.exp(_least_squares(np.log(above), weights * above**2, 2)),
            ]
        )
        errors = (weights * (curves[:, :n] - losses) ** 2).sum(axis=1)
    errors[~np.isfinite(curves).all(axis=1) | (curves < floors.min()).any(axis=1)] = np.inf
    best = int(np.argmin(errors))
    if not np.isfinite(errors[best]):
        return 0.0, 0.0
    return float(curves[best, n - 1]), float(curves[best, n])


def _least_squares(y: np.ndarray, weights: np.ndarray, terms: int) -> np.ndarray:
    """Fit polynomials of `terms` coefficients to rows of y; give values there and one step on."""
    powers, products = _design(y.shape[1], terms)
    weights = weights / weights.max(axis=1, keepdims=True)
    gram = (weights @ products).reshape(-1, terms, terms) + 1e-12 * np.eye(terms)
    moment = (weights * y) @ powers[:-1]
    return np.asarray(np.linalg.solve(gram, moment[..., None])[..., 0] @ powers.T)


@cache
def _design(n: int, terms: int) -> tuple[np.ndarray, np.ndarray]:
    """Give powers of k/n for k = 0..n, and their products for k < n."""
    powers = (np.arange(n + 1.0) / n)[:, None] ** np.arange(terms)
    products = powers[:-1, :, None] * powers[:-1, None, :]
    return powers, products.reshape(n, -1)
