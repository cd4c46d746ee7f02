"""Populations for the tests of the scoring room."""

import dataclasses

import numpy as np

from evalstop.benchmarks.population import LabelledRuns


def population_of(runs):
    """Make a population of runs told as in the worked example; all have the same evals."""
    kind = np.array([r["kind"] for r in runs])
    n, m = len(runs), len(runs[0]["score"])
    return LabelledRuns(
        kind=kind,
        peak=np.array([np.nan if r["p_star"] is None else r["p_star"] for r in runs]),
        progress=np.tile(np.arange(1, m + 1) / m, (n, 1)),
        observed=np.array([r["score"] for r in runs]),
        true=np.array([r["true_score"] for r in runs]),
        n_evals=np.full(n, m),
        stoppable=np.isin(kind, ["hacking", "healthy"]),
        gpu_hours=np.array([r["gpus"] * r["hours"] for r in runs]),
    )


def made_up(seed, n=60, m=9):
    """Make runs of different lengths with missing evals, and an alarm of each (-1 none)."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, m + 1, n)
    true = rng.normal(size=(n, m))
    progress = np.minimum(np.arange(1, m + 1) / lengths[:, None], 1)
    at_an_eval = progress[np.arange(n), rng.integers(0, m, n)]
    told = LabelledRuns(
        kind=rng.choice(["hacking", "healthy", "lora"], n),
        peak=np.where(rng.random(n) < 0.5, at_an_eval, rng.uniform(0, 1, n)),
        progress=progress,
        observed=np.where(rng.random((n, m)) < 0.1, np.nan, true + rng.normal(size=(n, m))),
        true=true,
        n_evals=lengths,
        stoppable=rng.random(n) < 0.8,
        gpu_hours=rng.uniform(1, 9, n),
    )
    return told, rng.integers(-1, lengths)


def rows_of(population, rows):
    """Give some of the runs."""
    arrays = {
        f.name: getattr(population, f.name)[rows]
        for f in dataclasses.fields(population)
        if f.name != "estimated"
    }
    return LabelledRuns(**arrays)
