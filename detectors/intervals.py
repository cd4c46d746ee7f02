"""The Wilson interval of a rate, and the level of every interval that is printed."""

from statistics import NormalDist

import numpy as np

LEVEL = 0.95
Ends = tuple[float, float]


def wilson(hits: float, n: float, level: float = LEVEL) -> Ends:
    """Give the Wilson score interval of a share of `n` independent runs; NaN if there are none.

    References
    ----------
    Wilson (1927), doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> low, high = wilson(0, 10)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.278)
    """
    if n == 0:
        return np.nan, np.nan
    z2 = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    share = hits / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    low = float(centre - half) if hits > 0 else 0.0
    high = float(centre + half) if hits < n else 1.0
    return low, high
