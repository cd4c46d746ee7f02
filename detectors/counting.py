"""Exact false-alarm probabilities of k-decline and patience, by counting permutations.

On a flat curve with independent continuous noise every order of the scores is equally likely, so
the probability of a false alarm depends on nothing but k and the number of evals. Adding any
non-decreasing trend can only lower it: these are bounds for every healthy (non-decreasing) mean.
"""

from fractions import Fraction
from functools import lru_cache
from math import comb, factorial

from evalstop.detectors.settings import nearest
from evalstop.errors import UserError

RULES = ("k-decline", "patience")


def false_alarm_probability(k: int, n: int, rule: str = "k-decline") -> Fraction:
    """Give P(alarm within n evals) on flat independent continuous noise, exactly.

    Parameters
    ----------
    k : int
        Declines in a row (k-decline), or evals without a new best (patience); at least 1.
    n : int
        Evals of the run, at least 0.
    rule : {"k-decline", "patience"}
        Which rule.

    Returns
    -------
    Fraction
        In [0, 1].

    References
    ----------
    Permutations without k consecutive descents: Goulden & Jackson (1983), *Combinatorial
    Enumeration*; for k=2 OEIS A049774. Records are independent, the i-th with probability 1/i:
    Renyi (1962).

    Examples
    --------
    >>> false_alarm_probability(2, 5), false_alarm_probability(2, 3, rule="patience")
    (Fraction(5, 12), Fraction(1, 3))
    """
    if k < 1 or n < 0:
        raise UserError(f"false alarm: k must be at least 1 and n at least 0, got k={k}, n={n}")
    if rule not in RULES:
        raise UserError(f"false alarm: there is no counting for {rule!r}, {nearest(rule, RULES)}")
    if rule == "patience":
        return _patience(k, n)
    return 1 - Fraction(_without_descents(k, n)[n], factorial(n))


def k_for(alpha: float, n: int, rule: str = "k-decline") -> int:
    """Give the smallest k whose false-alarm probability within n evals is at most alpha.

    Examples
    --------
    >>> k_for(0.05, 10), k_for(0.05, 10, rule="patience")
    (4, 10)
    """
    if not 0 <= alpha <= 1:
        raise UserError(f"false alarm: alpha must be between 0 and 1, got {alpha}")
    # With k = n the rule can never fire, so the search ends.
    return next(k for k in range(1, max(n, 1) + 1) if false_alarm_probability(k, n, rule) <= alpha)


@lru_cache(maxsize=64)
def _without_descents(k: int, n: int) -> list[int]:
    """Count the permutations of 0..n items without k consecutive descents.

    Their exponential generating function is the reciprocal of
    ``sum over j of x^((k+1)j)/((k+1)j)! - x^((k+1)j+1)/((k+1)j+1)!``.
    """
    count = [1]
    for m in range(1, n + 1):
        total = 0
        for j in range(0, m + 1, k + 1):
            if j:
                total -= comb(m, j) * count[m - j]
            if j + 1 <= m:
                total += comb(m, j + 1) * count[m - j - 1]
        count.append(total)
    return count


@lru_cache(maxsize=64)
def _patience(k: int, n: int) -> Fraction:
    """Walk over the evals since the last record; k of them make the alarm."""
    since = [Fraction(1)] + [Fraction(0)] * (k - 1)  # P(no alarm yet, that many evals ago)
    if n == 0:
        return Fraction(0)
    for i in range(2, n + 1):
        record = sum(since, Fraction(0)) / i
        since = [record] + [p * (i - 1) / i for p in since[:-1]]
    return 1 - sum(since, Fraction(0))
