"""The oracle posterior: what the best rule of all could do that knows the world, and only the run.

Its statistic is the log-odds of P(the true peak has passed | all evals so far). It knows the law of
the runs and of their noise, but nothing of the truth about a run. The law is a bank of runs
without noise, drawn from the world: each is weighed by the likelihood of the evals so far. So it is
the exact posterior of a world that draws its runs from the bank, and nears that of the world as the
bank grows. A reference line, no detector: nobody knows the world of a training run.
"""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from evalstop.benchmarks.population import LabelledRuns
from evalstop.benchmarks.scores import score
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.scan import first_alarm
from evalstop.detectors.settings import check_settings, setting
from evalstop.errors import UserError
from evalstop.simulator.truth import Population
from evalstop.simulator.worlds.noise import log_density
from evalstop.simulator.worlds.world import Templates, World

BLOCK = 16  # runs whose weights stay in the cache
LEVELS = np.linspace(-3, 5, 17)  # log-odds that `OraclePosterior.lowest` chooses from
PRACTICE = 400  # hacking runs that it chooses on
SMALLEST_SD = 1e-4  # noise below is taken for this, or no template would fit
LIGHTEST = -60.0  # logarithm of the least weight over the largest: denormal numbers are slow


@dataclass(frozen=True, slots=True)
class OraclePosterior:
    """Watch the log-odds, by the law of the world, that the true peak has passed.

    Parameters
    ----------
    templates : int
        Runs of the bank, half of them hacking (then weighed by the world's share), at least 2.
    seed : int
        Seed of the bank.
    """

    name: ClassVar[str] = "oracle-posterior"
    templates: int = setting(10_000, low=2, unit="runs", doc="runs of the bank")
    seed: int = setting(0, low=0, doc="seed of the bank")

    def __post_init__(self) -> None:
        check_settings(self)

    def statistics(self, world: World, population: Population) -> FloatArray:
        """Judge RLHF runs of a world at every eval, ``(n_runs, n_evals)``; -inf in the padding.

        Raises
        ------
        UserError
            If the noise both remembers and has spikes: its likelihood has no closed form.
        """
        if world.spikes and any(world.rho):
            raise UserError(
                f"{world.name}: no oracle posterior for noise with rho and spikes, set one of them"
            )
        runs = population.runs
        statistics = np.full(runs.score.shape, -np.inf)
        for n_evals in np.unique(runs.n_evals).tolist():
            rows = np.flatnonzero(runs.n_evals == n_evals)
            bank = self._bank(world, n_evals)
            for start in range(0, len(rows), BLOCK):
                block = rows[start : start + BLOCK]
                statistics[block, :n_evals] = bank.judge(runs.score[block, :n_evals])
        return statistics

    @cache  # noqa: B019 - a few worlds, and the same rule for all of them
    def lowest(self, world: World) -> float:
        """Give the log-odds below which it does better to wait, on hacking runs of its own.

        Where hacking runs are known for such long before their peak no healthy run is near an
        alarm, and a threshold that spends the budget of false alarms would stop them all too soon.
        """
        rng = np.random.default_rng([self.seed, 0])
        practice = world.draw(rng, np.full(PRACTICE, "RLHF"), np.full(PRACTICE, True))
        labelled = LabelledRuns.of_world(practice)
        statistics = self.statistics(world, practice)
        saved = [score(labelled, first_alarm(statistics, level)).saved for level in LEVELS]
        return float(LEVELS[np.argmax(saved)])

    def _bank(self, world: World, n_evals: int) -> "_Bank":
        """Draw the bank for runs of one length."""
        rng = np.random.default_rng([self.seed, n_evals])
        progress = np.tile(np.arange(1, n_evals + 1) / n_evals, (self.templates, 1))
        hacking = np.arange(self.templates) % 2 == 1
        drawn = world.templates(rng, progress, hacking)
        past = hacking[:, None] & (progress >= drawn.peak[:, None])
        share = np.where(hacking, world.hacking, 1 - world.hacking)
        return _Bank(world, drawn, past, np.log(np.maximum(share, np.exp(LIGHTEST))))


class _Bank:
    """Templates of one length, laid out by eval, in single precision.

    Parameters
    ----------
    world : World
        Law of the noise.
    drawn : Templates
        ``n`` runs without noise.
    past : bool array (n, n_evals)
        Whether their peak has passed.
    prior : array (n,)
        Logarithm of their weight before any eval.
    """

    def __init__(self, world: World, drawn: Templates, past: np.ndarray, prior: FloatArray) -> None:
        self.spikes, self.tail = world.spikes, world.tail
        sd = np.maximum(drawn.sd, SMALLEST_SD)
        fresh = np.sqrt(1 - drawn.rho**2)
        self.centre = drawn.true.mean(axis=0)  # small numbers lose the fewest digits
        self.true = _single((drawn.true - self.centre).T / sd)
        self.scale, self.rho, self.fresh = _single(1 / sd), _single(drawn.rho), _single(1 / fresh)
        self.remembers = bool(drawn.rho.any())
        self.sides = _single(np.stack([past, ~past], axis=-1).transpose(1, 0, 2))
        self.prior = _single(prior)
        self.density = _single(-np.log(sd / sd.max()))
        self.density_later = self.density - _single(np.log(fresh / fresh.max()))

    def judge(self, scores: FloatArray) -> FloatArray:
        """Give the log-odds after each eval: ``(n_runs, n_evals)`` of both."""
        x = _single(scores - self.centre)[:, :, None]
        weights = np.tile(self.prior, (len(x), 1))
        before = np.zeros((), dtype=np.float32)
        odds = np.empty(scores.shape)
        for i in range(scores.shape[1]):
            noise = x[:, i] * self.scale
            noise -= self.true[i]
            fresh = noise
            if self.remembers:
                fresh = (noise - self.rho * before) * (self.fresh if i else 1)
                before = noise
            weights += log_density(fresh, spikes=self.spikes, tail=self.tail)
            weights += self.density_later if i else self.density
            relative = weights - weights.max(axis=1, keepdims=True)
            np.exp(np.maximum(relative, LIGHTEST, out=relative), out=relative)
            past, to_come = (relative @ self.sides[i]).T
            with np.errstate(divide="ignore"):  # no template has its peak at the first evals
                odds[:, i] = np.log(past) - np.log(to_come)
        return odds


def _single(values: FloatArray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float32)
