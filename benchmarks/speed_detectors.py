"""Speed of the zoo: ``python -m evalstop.benchmarks.speed_detectors``.

Measures, on one core: the full statistic matrix of 100,000 runs x 20 evals for every member, its
memory, ``update_many`` of 10,000 live runs, a single ``update``; beside them peers (extra
``peers``), measured in the same run. Exit status 1 if a promise is broken.
"""

import sys
import tracemalloc
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from evalstop.benchmarks.timing import Row, best_of, report
from evalstop.detectors import DETECTORS, Monitor, Runs, scan
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.rules import Detector
from evalstop.detectors.settings import name_of
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.mann_kendall import MannKendall

N_RUNS, N_EVALS, FLEET, SEED = 100_000, 20, 10_000, 1
# Limits in seconds for the full matrix; members that are not named have none.
LIMITS = {
    **dict.fromkeys(
        (
            *("k-decline", "patience", "drawdown", "ewma-drawdown", "page-hinkley"),
            *("loss-plateau", "fixed-progress", "never", "always"),
        ),
        0.020,
    ),
    **dict.fromkeys(("cusum", "ewma", "shiryaev-roberts"), 0.025),
    "mann-kendall": 0.150,
    "slope-glr": 1.0,
    "bocpd": 3.0,
    "unimodal-glr": 5.0,
}
LONG_RUNS, LONG = 500, 200  # where counting anew shows its cost
RIVER, BOCPD = "river PageHinkley", "bayesian-changepoint-detection"
LEAST_RATIOS = {"bocpd": 100}
QUICK = 0.020  # members below this limit are also held to 200 times river's Page-Hinkley


def made_up(n_runs: int) -> Runs:
    """Make noisy saturating curves with all channels."""
    rng = np.random.default_rng(SEED)
    p = np.arange(1, N_EVALS + 1) / N_EVALS
    ones = np.ones((n_runs, 1))
    return Runs(
        1 - np.exp(-3 * p) + 0.05 * rng.standard_normal((n_runs, N_EVALS)),
        loss=0.3 + np.exp(-3 * p) * ones,
        proxy=p + 0.05 * rng.standard_normal((n_runs, N_EVALS)),
        kl=p**2 * ones,
        progress=p * ones,
        step=100 * np.arange(1.0, N_EVALS + 1) * ones,
    )


def river_page_hinkley(curves: Iterable[Iterable[float]], n_runs: int) -> FloatArray:
    """Fill a statistic matrix with river's Page-Hinkley; it offers only a bool, so by its insides.

    Left at its default threshold of 50 it never alarms here, so it never resets itself.
    """
    from river.drift import PageHinkley

    statistics = np.empty((n_runs, N_EVALS))
    for i, curve in enumerate(curves):
        detector: Any = PageHinkley(mode="down")
        for j, value in enumerate(curve):
            detector.update(value)
            statistics[i, j] = detector._max_decrease - detector._sum_decrease
    return statistics


def peer_bocpd(curves: FloatArray) -> list[FloatArray]:
    """Run-length posteriors of bayesian-changepoint-detection, the best known peer of BOCPD."""
    import bayesian_changepoint_detection.online_changepoint_detection as theirs

    hazard = partial(theirs.constant_hazard, 20)
    return [
        theirs.online_changepoint_detection(curve, hazard, theirs.StudentT(1, 1, 1, 0))[0]
        for curve in curves
    ]


def counted_anew(curves: FloatArray) -> FloatArray:
    """Fill a statistic matrix of Mann-Kendall by its definition: all pairs, again at every eval."""
    statistics = np.full(curves.shape, -np.inf)
    for t in range(3, curves.shape[1] + 1):
        back = curves[:, :t][:, ::-1]
        falls = np.zeros(back.shape, dtype=np.int64)
        for lag in range(1, t):
            falls[:, lag:] += np.sign(back[:, lag:] - back[:, :-lag]).astype(np.int64)
        m = np.arange(3.0, t + 1)
        sd = np.sqrt(m * (m - 1) * (2 * m + 5) / 18)
        statistics[:, t - 1] = (falls.cumsum(axis=1)[:, 2:] / sd).max(axis=1)
    return statistics


def peers() -> dict[str, float]:
    """Measure what others need for one run of 20 evals, in seconds; empty if not installed."""
    curves, few = made_up(1000).score, 1000
    try:
        return {
            RIVER: best_of(lambda: river_page_hinkley(curves, few)) / few,
            "the same, fed Python floats": best_of(lambda: river_page_hinkley(curves.tolist(), few))
            / few,
            BOCPD: best_of(lambda: peer_bocpd(curves[:100]), 3) / 100,
        }
    except ImportError as missing:
        print(f"{missing.name} is not installed (extra 'peers'): no ratios", file=sys.stderr)
        return {}


def main() -> int:
    """Print the tables."""
    runs = made_up(N_RUNS)
    theirs = peers()
    rows = [Row(peer, seconds * N_RUNS) for peer, seconds in theirs.items()]
    for cls in DETECTORS.members:
        name = name_of(cls)
        limit = LIMITS.get(name)
        few = limit is None or limit > 0.1
        detector: Detector = cls()
        seconds = best_of(partial(scan, detector, runs), 1 if few else 5)
        peer = BOCPD if name == "bocpd" else RIVER
        ratio = theirs[peer] * N_RUNS / seconds if theirs else None
        least = LEAST_RATIOS.get(name, 200 if limit is not None and limit <= QUICK else None)
        rows.append(Row(name, seconds, limit, peer, ratio, least if theirs else None))
    broken = report(f"full matrix, {N_RUNS:,} runs x {N_EVALS} evals", rows)

    long = Runs(np.random.default_rng(SEED).standard_normal((LONG_RUNS, LONG)))
    rule = MannKendall(window=LONG)
    seconds = best_of(partial(scan, rule, long), 3)
    ratio = best_of(partial(counted_anew, long.score), 1) / seconds
    row = Row("mann-kendall", seconds, None, "counted anew at every eval", ratio, 20)
    broken |= report(f"{LONG_RUNS} runs x {LONG} evals", [row])

    tracemalloc.start()
    scan(KDecline(), runs)
    peak = tracemalloc.get_traced_memory()[1] / runs.score.nbytes
    tracemalloc.stop()
    print(f"\nmemory of a scan: {peak:.2f} x its input (limit 4)")
    broken |= int(peak > 4)

    fleet = made_up(FLEET)
    rows = []
    for name in ("k-decline", "ewma-drawdown", "page-hinkley"):
        monitor = Monitor(DETECTORS.find(name)(), np.inf)
        handles = monitor.handles([str(i) for i in range(FLEET)])
        columns = iter(np.tile(fleet.score, 3).T)
        many = best_of(lambda m=monitor, h=handles, c=columns: m.update_many(h, next(c)), 20)  # type: ignore[misc]
        rows.append(Row(f"{name}: update_many of {FLEET:,}", many, 0.002))
        single = best_of(lambda m=monitor: [m.update("7", 0.5) for _ in range(200)], 5) / 200  # type: ignore[misc]
        rows.append(Row(f"{name}: one update", single, 50e-6))
    broken |= report("live runs", rows)
    return broken


if __name__ == "__main__":
    raise SystemExit(main())
