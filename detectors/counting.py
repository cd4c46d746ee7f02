"""Exact false-alarm probabilities of k-decline and patience, by counting permutations.

On a flat curve with independent continuous noise every order of the scores is equally likely, so
the probability of a false alarm depends on nothing but k and the number of evals. Adding any
non-decreasing trend can only lower it: these are bounds for every healthy (non-decreasing) mean.
"""

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial
from typing import TypeVar

from evalstop.detectors.settings import nearest
from evalstop.errors import UserError

RULES = ("k-decline", "patience")

# Up to so many evals commands count exactly; beyond, numbers of thousands of digits take minutes.
EXACT_UP_TO = 100


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
        return 1 - _no_alarm_of_patience(k, n, Fraction(1))
    return 1 - Fraction(_without_descents(k, n)[n], factorial(n))


def false_alarm_rate(k: int, n: int, rule: str = "k-decline") -> float:
    """Give `false_alarm_probability` as a float: for long runs in milliseconds, to 1e-9 of it.

    Examples
    --------
    >>> round(false_alarm_rate(7, 1000), 4)
    0.0217
    """
    if n <= EXACT_UP_TO or k < 1 or rule not in RULES:
        return float(false_alarm_probability(k, n, rule))
    if rule == "patience":
        return 0.0 if k >= n else 1 - _no_alarm_of_patience(k, n, 1.0)
    return _rate_of_declines(k, n)


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
    chance = false_alarm_probability if n <= EXACT_UP_TO else false_alarm_rate
    some = range(1, max(n, 1) + 1)
    if rule == "patience":  # its k grows with n, and the chance falls with k
        return some[bisect_left(some, True, key=lambda k: chance(k, n, rule) <= alpha)]
    return next(k for k in some if chance(k, n, rule) <= alpha)


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


def _rate_of_declines(k: int, n: int) -> float:
    """Sum up what each eval adds, by the same series; its terms beyond j = k + 24 are no more."""
    inverse = [1 / factorial(j) for j in range(k + 26)]
    rate, no_alarm = 0.0, [1.0]
    for m in range(1, n + 1):
        for j in range(k + 1, min(m, k + 24) + 1, k + 1):
            rate += no_alarm[m - j] * inverse[j]
            if j < m:
                rate -= no_alarm[m - j - 1] * inverse[j + 1]
        no_alarm.append(1 - rate)
    return rate


Number = TypeVar("Number", Fraction, float)


def _no_alarm_of_patience(k: int, n: int, one: Number) -> Number:
    """Give P(no alarm within n evals), in the arithmetic of `one`.

    With w[i] = i P(eval i is a record, no alarm before): a record at i is still the last one at m
    with probability i/m, so that w[m] = (w[m-1] + ... + w[m-k]) / (m-1).
    """
    weights, recent = [one], one  # recent = the sum of the last k weights
    for m in range(2, n + 1):
        weights.append(recent / (m - 1))
        recent += weights[-1]
        if m > k:
            recent -= weights[m - k - 1]
    return recent / max(n, 1)
