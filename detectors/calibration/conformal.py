"""Calibration on the user's own healthy runs: split conformal.

If a new run is exchangeable with the n healthy ones, it has an alarm with probability at most the
budget: for any detector, noise and correlation from eval to eval. Metrics of one run are not
independent, so the units are runs: a run's statistic is the largest of all its metrics.

What the n runs happen to be decides what the threshold really does: given them, and a statistic
without ties, the rate of false stops is Beta(c, n + 1 - c), c = floor(budget (n + 1)). Its mean and
95 % interval are reported; ties only lower it.

References
----------
Vovk (2012), "Conditional validity of inductive conformal predictors", arXiv:1209.2673 (the law);
Bates, Candes, Lei, Romano & Sesia (2023), "Testing for outliers with conformal p-values",
doi:10.1214/22-AOS2244 (their p-values in a Benjamini-Hochberg procedure).
"""

import numpy as np

from evalstop.detectors.calibration.order import alarms_allowed, rate_for, runs_needed
from evalstop.detectors.calibration.record import Calibration, check_budget
from evalstop.detectors.calibration.sample import Sample
from evalstop.detectors.intervals import LEVEL, Ends
from evalstop.detectors.logs.eval_runs import EvalRuns
from evalstop.detectors.observation import CHANNELS, FloatArray, IntArray, Runs
from evalstop.detectors.rules import Detector, inputs_of
from evalstop.detectors.scan import scan
from evalstop.detectors.settings import spec_of
from evalstop.detectors.words import plural
from evalstop.errors import UserError


class HealthyNull:
    """What a detector does on runs that were healthy: a `Null`.

    Parameters
    ----------
    detector : Detector
        Any.
    runs : Runs
        Their curves, one row each.
    groups : int array (n_curves,)
        Curves of one run have one number (0, 1, ...).
    blocks : bool
        Cut long runs into blocks of as many evals as are asked about: more units, and one more
        assumption.
    """

    method = "conformal"

    def __init__(
        self, detector: Detector, runs: Runs, groups: IntArray, *, blocks: bool = False
    ) -> None:
        self.detector = detector
        self.runs = runs
        self.groups = groups
        self.blocks = blocks
        self._samples: dict[int, Sample] = {}

    @classmethod
    def of(cls, detector: Detector, evals: EvalRuns, *, blocks: bool = False) -> "HealthyNull":
        """Take curves as they were read: those of one run of one source are one unit."""
        names = [(curve.source, curve.run) for curve in evals.curves]
        number = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return cls(detector, evals.runs, np.array([number[n] for n in names]), blocks=blocks)

    def calibrate(self, fpr: float, horizon: int, *, boundary: bool = False) -> Calibration:
        """Find the threshold (or boundary); `UserError` says how many runs are missing."""
        check_budget(fpr, horizon)
        sample = self.sample(horizon)
        n = len(sample.within(horizon))
        self._require(n, fpr, horizon)
        threshold: float | tuple[float, ...] = (
            sample.boundary(fpr, horizon, spend_ties=True)
            if boundary
            else sample.threshold(fpr, horizon)
        )
        spent = int(alarms_allowed(np.array(n), fpr))
        return Calibration(
            detector=spec_of(self.detector),
            threshold=threshold,
            nominal=fpr,
            realised=spent / (n + 1),
            interval=rate_interval(spent, n),
            horizon=horizon,
            method=self.method,
            assumptions=self.assumptions(horizon),
            runs=n,
        )

    def p_value(self, observed: float, n_evals: int) -> float:
        """Give the share of healthy runs, the new one among them, that show as much."""
        return self.sample(n_evals).p_value(observed, n_evals)

    def assumptions(self, horizon: int) -> str:
        """Say what has to hold."""
        n = len(self.sample(horizon).within(horizon))
        if self.blocks:
            return (
                f"{plural(horizon, 'eval')} of a new run and {plural(n, 'block')} of healthy runs "
                "are exchangeable, and no noise connects them"
            )
        return f"a new run is exchangeable with {plural(n, 'healthy run')}"

    def sample(self, horizon: int) -> Sample:
        """Give the statistics of the units; only for blocks do they depend on the horizon."""
        key = horizon if self.blocks else 0
        if key not in self._samples:
            self._samples[key] = self._scan(horizon)
        return self._samples[key]

    def _scan(self, horizon: int) -> Sample:
        runs, units = packed(self.runs, inputs_of(self.detector)), self.groups
        if self.blocks and horizon > 0:
            runs, units = _cut(runs, units, horizon)
        n_units = int(units.max(initial=-1)) + 1
        statistics = np.full((n_units, runs.score.shape[1]), -np.inf)
        np.maximum.at(statistics, units, scan(self.detector, runs))
        n_evals = np.zeros(n_units, dtype=np.int64)
        np.maximum.at(n_evals, units, runs.n_evals)
        return Sample(statistics, n_evals)

    def _require(self, n: int, fpr: float, horizon: int) -> None:
        needed = runs_needed(fpr)
        if n >= needed:
            return
        what = "block" if self.blocks else "run"
        shorter = len(np.unique(self.groups)) - n if not self.blocks else 0
        raise UserError(
            f"healthy: a budget of {fpr:g} needs {plural(needed, f'healthy {what}')} of at "
            f"least {plural(horizon, 'eval')}, there are {n}"
            + (f" ({shorter} shorter)" if shorter else "")
            + "; add runs"
            + (f", or take --fpr {rate_for(n):g} or more" if n else "")
            + (", or a smaller --horizon" if shorter or self.blocks else "")
        )


def rate_interval(spent: int, n: int) -> Ends:
    """Give the 95 % interval of the rate of false stops, given n runs: Beta(spent, n + 1 - spent).

    >>> low, high = rate_interval(1, 19)
    >>> round(low, 4), round(high, 3)
    (0.0013, 0.176)
    """
    from scipy.special import betaincinv

    low, high = betaincinv(spent, n + 1 - spent, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return float(low), float(high)


def packed(runs: Runs, inputs: tuple[str, ...]) -> Runs:
    """Leave out the evals that lack an input: rules do not see them, horizons do not count them."""
    usable = runs.usable(inputs)
    order = np.argsort(~usable, axis=1, kind="stable")
    channels = {
        c: np.take_along_axis(v, order, axis=1)
        for c in CHANNELS
        if (v := getattr(runs, c)) is not None
    }
    return Runs(n_evals=usable.sum(axis=1), **channels)


def _cut(runs: Runs, units: IntArray, horizon: int) -> tuple[Runs, IntArray]:
    """Cut packed runs into blocks; what is left at the end is lost.

    Blocks of the curves of one run that begin at the same eval stay one unit.
    """
    n_blocks = runs.score.shape[1] // horizon

    def blocks(values: FloatArray) -> FloatArray:
        return values[:, : n_blocks * horizon].reshape(-1, horizon)

    channels = {c: blocks(v) for c in CHANNELS if (v := getattr(runs, c)) is not None}
    begins = np.tile(np.arange(n_blocks) * horizon, len(runs))
    complete = begins + horizon <= np.repeat(runs.n_evals, n_blocks)
    number = np.repeat(units, n_blocks) * n_blocks + begins // horizon
    cut = Runs(n_evals=np.full(len(begins), horizon), **channels).take(complete)
    _, numbered = np.unique(number[complete], return_inverse=True)
    return cut, numbered
