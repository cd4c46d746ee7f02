"""How counts and thresholds are written in sentences, the same everywhere."""


def plural(n: int, noun: str) -> str:
    """Write a count with its noun.

    >>> plural(1, "curve"), plural(2, "healthy run"), plural(0, "GPU")
    ('1 curve', '2 healthy runs', '0 GPUs')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def level(threshold: float, digits: str = "#.4g") -> str:
    """Write a threshold; one that is there only to say *any* is written in words.

    >>> level(2), level(0.05), level(5e-324), level(float("-inf"))
    ('2', '0.05000', 'more than 0', 'any number')
    """
    if 0 < threshold < 1e-300:  # the next number after 0
        return "more than 0"
    if threshold < -1e300:
        return "any number"
    if float(threshold).is_integer() and abs(threshold) < 1e6:
        return f"{threshold:.0f}"
    return f"{threshold:{digits}}"
