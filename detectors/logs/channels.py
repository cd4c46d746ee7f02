"""The train-side channels of a run as a detector sees them: one value per eval."""

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.logs.curve import Curve, Reading
from evalstop.detectors.logs.rules.roles import channel

CHANNELS = {"train_loss": "loss", "proxy_reward": "proxy", "kl": "kl"}


def channels_at(curve: Curve, reading: Reading) -> dict[str, NDArray[np.float64]]:
    """Join the channels of a curve's run to its evals: the last train row at or before each.

    Parameters
    ----------
    curve : Curve
        The eval curve, n evals.
    reading : Reading
        What it was read with.

    Returns
    -------
    dict of str to (n,) float array
        Those of ``loss``, ``proxy``, ``kl`` and ``progress`` that the run has; NaN before the
        first train row. Where a run has several series of one role, the most telling name.
    """
    found: dict[str, Curve] = {}
    for other in reading.curves:
        name = CHANNELS.get(other.role) or ("progress" if other.metric == "progress" else "")
        if not name or other.role == "eval" or other.run != curve.run:
            continue
        if other.labels and dict(other.labels) != dict(curve.labels):
            continue
        if name not in found or _rank(other) < _rank(found[name]):
            found[name] = other
    return {name: _last_before(curve.steps, other) for name, other in found.items()}


def _rank(curve: Curve) -> int:
    """Give how far down the list of its role a name is."""
    told = channel(curve.metric)
    return told[1] if told else 1000


def _last_before(steps: NDArray[np.float64], other: Curve) -> NDArray[np.float64]:
    at = np.searchsorted(other.steps, steps, side="right") - 1
    return np.where(at >= 0, other.values[np.maximum(at, 0)], np.nan)
