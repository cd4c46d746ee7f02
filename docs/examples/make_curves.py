"""Make ``curves.csv``: 60 made-up RLHF runs, two eval metrics each, with the label of each curve.

``python docs/examples/make_curves.py`` writes the file again, byte for byte. In a ``declined`` run
the policy games its reward model: the proxy reward goes on rising while the true score falls after
a peak. ``healthy`` curves rise to their end; ``plateau`` curves converge early, and from there on
noise alone makes declines.
"""

import csv
from pathlib import Path

import numpy as np

SEED = 20260401
KINDS = {"declined": 0.3, "healthy": 0.3, "plateau": 0.4}
# Source: its metrics, each with its usual first and best value, and whether higher is better.
SOURCES = {
    "chat": {"eval_win_rate": (0.35, 0.75, True), "eval_truthful": (0.40, 0.65, True)},
    "code": {"eval_pass_at_1": (0.15, 0.55, True), "eval_preference_loss": (0.69, 0.45, False)},
}
COLUMNS = ("source", "run", "metric", "step", "value", "higher_is_better", "proxy", "label")


def shape(kind: str, progress: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give the score without noise at each progress: 0 before training, 1 at its best."""
    if kind == "declined":
        peak, lost = rng.uniform(0.1, 0.65), rng.uniform(0.5, 1.1)
        rise = np.minimum(progress / peak, 1)
        fall = np.clip((progress - peak) / (1 - peak), 0, 1)
        return rise * (2 - rise) - lost * fall**1.3
    rate = rng.uniform(1.5, 3) if kind == "healthy" else rng.uniform(8, 20)
    return (1 - np.exp(-rate * progress)) / (1 - np.exp(-rate))


def noise(n: int, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Give noise in which an eval keeps a fifth of the one before."""
    values = sigma * rng.standard_normal(n)
    for i in range(1, n):
        values[i] = 0.2 * values[i - 1] + np.sqrt(1 - 0.2**2) * values[i]
    return values


def make_run(number: int, rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Give the rows of one run."""
    source = "chat" if number % 2 == 0 else "code"
    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    n_evals = int(rng.integers(8, 17))
    steps = int(rng.choice([50, 100, 200])) * np.arange(1, n_evals + 1)
    progress = steps / steps[-1]
    proxy = 3 * (1 - np.exp(-2.5 * progress)) + noise(n_evals, 0.05, rng)
    rows: list[tuple[object, ...]] = []
    for metric, (first, best, higher) in SOURCES[source].items():
        # What is gamed shows on the main metric; the other one often only stops to improve.
        gamed = kind != "declined" or not rows or rng.random() < 0.6
        label = kind if gamed else "plateau"
        sigma = np.exp(rng.normal(np.log(0.08), 0.4))
        gain = rng.uniform(0.5, 1) * shape(label, progress, rng) + noise(n_evals, sigma, rng)
        value = first + (best - first) * gain
        for i in range(n_evals):
            told = (steps[i], f"{value[i]:.4f}", int(higher), f"{proxy[i]:.3f}")
            rows.append((source, f"{source}-{number:02d}", metric, *told, label))
    return rows


def main() -> None:
    """Write the file beside this script."""
    rng = np.random.default_rng(SEED)
    with Path(__file__).with_name("curves.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for number in range(60):
            out.writerows(make_run(number, rng))


if __name__ == "__main__":
    main()
