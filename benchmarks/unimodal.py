"""The best rise-then-fall least-squares fit: where a curve without a truth had its peak."""

from typing import NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.detectors.zoo.unimodal_glr import falling_error


class UnimodalFit(NamedTuple):
    """A fit that does not fall before its peak and does not rise after it.

    Parameters
    ----------
    peak : int
        Index of the highest fitted value, the earliest if equal.
    values : array (n,)
        Fitted values.
    """

    peak: int
    values: FloatArray


def unimodal_fit(scores: FloatArray) -> UnimodalFit:
    """Fit one curve that has at least one score and no missing ones.

    Of splits into a rising and a falling part with equal errors the earliest is taken.

    References
    ----------
    Stout (2008), "Unimodal regression via prefix isotonic regression",
    doi:10.1016/j.csda.2008.08.005.

    Examples
    --------
    >>> unimodal_fit(np.array([1.0, 3.0, 2.0, 2.5, 1.0]))
    UnimodalFit(peak=1, values=array([1.  , 3.  , 2.25, 2.25, 1.  ]))
    """
    from scipy.optimize import isotonic_regression

    centred = (scores - scores[0])[None]
    falling = falling_error(centred)[0]
    rising = falling_error(np.ascontiguousarray(centred[:, ::-1]))[0, ::-1]
    error = rising + falling
    # Errors that differ by rounding alone are equal.
    split = int((error <= error.min() + 1e-12 * (centred**2).sum()).argmax())
    parts = [
        isotonic_regression(part, increasing=increasing).x
        for part, increasing in ((scores[:split], True), (scores[split:], False))
        if len(part)
    ]
    values = np.concatenate(parts)
    return UnimodalFit(int(values.argmax()), values)
