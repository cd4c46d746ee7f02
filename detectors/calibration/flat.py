"""Calibration on flat noise, by Monte Carlo.

The mean of a run that has converged does not move, and noise alone makes its alarms. For a detector
whose statistic a rising trend can only lower (`is_monotone`), a flat mean is the worst of all that
never fall, whatever the noise: then the promise holds for every healthy run with such noise. For
any other detector it holds for a flat mean only, and says so.

>>> from evalstop.detectors.zoo.slope_glr import SlopeGlr
>>> found = flat(SlopeGlr(sigma=0.05), fpr=0.05, horizon=10)
>>> round(found.threshold, 1)
2.8
>>> flat(SlopeGlr(sigma=0.05), 0.05, 10, FlatNoise(rho=0.6)).threshold > found.threshold
True
"""

from collections.abc import Callable, Iterable

import numpy as np

from evalstop.detectors.calibration.flat_noise import DEFAULT, FlatNoise
from evalstop.detectors.calibration.noise_level import NoiseLevel, flat_runs, noise_level
from evalstop.detectors.calibration.record import Calibration, check_budget
from evalstop.detectors.calibration.sample import Sample
from evalstop.detectors.intervals import wilson
from evalstop.detectors.rules import Detector, is_monotone, is_rank_based
from evalstop.detectors.scan import first_alarm, scan
from evalstop.detectors.settings import spec_of
from evalstop.detectors.words import plural
from evalstop.errors import UserError

MOST = 50_000_000  # statistics that are kept
BLOCK = 16384  # runs that are drawn from one seed
Track = Callable[[Iterable[int]], Iterable[int]]


class FlatNull:
    """What a detector does on flat noise: a `Null`.

    Parameters
    ----------
    detector : Detector
        Reads the scores only.
    noise : FlatNoise
        What is drawn.
    track : callable
        Wraps the blocks that are scanned, for a progress bar.

    Raises
    ------
    UserError
        (From its methods.) If the noise level matters and nobody has said it.
    """

    method = "flat"

    def __init__(self, detector: Detector, noise: FlatNoise, track: Track = iter) -> None:
        self.detector = detector
        self.noise = noise
        self._track = track
        self._kept: dict[bool, Sample] = {}
        self._levels: dict[int, NoiseLevel] = {}

    def sample(self, horizon: int, *, fresh: bool = False) -> Sample:
        """Give the runs that thresholds come from, or `fresh` ones, of at least so many evals."""
        kept = self._kept.get(fresh)
        length = 0 if kept is None else kept.statistics.shape[1]
        if kept is None or length < horizon:
            # Run after run may be a little longer than the last.
            longer = max(horizon, min(2 * length, MOST // self.noise.runs))
            kept = self._kept[fresh] = self._scan(longer, int(fresh))
        return kept

    def calibrate(self, fpr: float, horizon: int, *, boundary: bool = False) -> Calibration:
        """Find the threshold (or boundary), and measure it on fresh runs."""
        check_budget(fpr, horizon)
        sample = self.sample(horizon)
        threshold: float | tuple[float, ...] = (
            sample.boundary(fpr, horizon, spend_ties=False)
            if boundary
            else sample.threshold(fpr, horizon)
        )
        statistics = self.sample(horizon, fresh=True).within(horizon)
        alarms, n = int(np.count_nonzero(first_alarm(statistics, threshold) >= 0)), len(statistics)
        return Calibration(
            detector=spec_of(self.detector),
            threshold=threshold,
            nominal=fpr,
            realised=alarms / n,
            interval=wilson(alarms, n),
            horizon=horizon,
            method=self.method,
            assumptions=self.assumptions(horizon),
            runs=n,
            seed=self.noise.seed,
        )

    def p_value(self, observed: float, n_evals: int) -> float:
        """Give P(a flat run shows as much within so many evals)."""
        return self.sample(max(n_evals, 1)).p_value(observed, n_evals)

    def assumptions(self, horizon: int) -> str:
        """Say what has to hold."""
        level = self._level(horizon)
        if is_rank_based(self.detector) and not self.noise.rho:
            noise = "independent continuous noise"
        else:
            noise = f"{self.noise} {level.size}"
        mean = "a flat mean" if level.mean is None else f"a mean of {level.mean:g}"
        if is_monotone(self.detector):
            there = "" if level.mean is None else " from there"
            return f"{noise}; {mean}, the worst of all that never fall{there}"
        return f"{noise}; {mean}, nothing is promised for one that moves"

    def _level(self, horizon: int) -> NoiseLevel:
        if horizon not in self._levels:
            self._levels[horizon] = noise_level(self.detector, horizon, self.noise.sigma)
        return self._levels[horizon]

    def _scan(self, horizon: int, stream: int) -> Sample:
        n_runs = self.noise.runs
        if n_runs * horizon > MOST:
            raise UserError(
                f"flat: {n_runs} runs of {plural(horizon, 'eval')} are too many to keep, take "
                f"at most runs={MOST // horizon}"
            )
        level = self._level(horizon)
        starts = range(0, n_runs, BLOCK)
        seeds = np.random.SeedSequence((self.noise.seed, stream)).spawn(len(starts))
        statistics = np.empty((n_runs, horizon))
        for start in self._track(starts):
            block = statistics[start : start + BLOCK]
            noise = self.noise.draw(seeds[start // BLOCK], len(block), horizon)
            block[:] = scan(self.detector, flat_runs(level.scores(noise)))
        return Sample(statistics, np.full(n_runs, horizon))


def flat(  # noqa: PLR0913 - what is promised, of what, and how it is found
    detector: Detector,
    fpr: float,
    horizon: int,
    noise: FlatNoise = DEFAULT,
    *,
    boundary: bool = False,
    track: Track = iter,
) -> Calibration:
    """Calibrate on flat noise.

    Parameters
    ----------
    detector : Detector
        Reads the scores only.
    fpr : float
        False-alarm budget per run, in (0, 1).
    horizon : int
        Evals per run, at least 1.
    noise : FlatNoise
        What is assumed of the noise.
    boundary : bool
        Spend the budget evenly over the evals, instead of one threshold for all of them.
    track : callable
        Wraps the blocks that are scanned, for a progress bar.
    """
    return FlatNull(detector, noise, track).calibrate(fpr, horizon, boundary=boundary)
