"""A world makes runs and, apart from them, the truth.

A world states its *shapes*: how the true score of healthy and of hacking runs goes with progress.
Noise, amplitude, offset, training loss, proxy reward and KL are written here, once.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray, IntArray, Runs
from evalstop.detectors.settings import check_settings, nearest, setting
from evalstop.errors import UserError
from evalstop.simulator.truth import BoolArray, Population, StrArray, Truths
from evalstop.simulator.worlds.laws import exponential
from evalstop.simulator.worlds.noise import draw_noise

STEPS_BETWEEN_EVALS = 100


class Shapes(NamedTuple):
    """True scores in units of a run's gain ``(n_runs, n_evals)`` and the peaks ``(n_runs,)``."""

    score: FloatArray
    peak: FloatArray


class Templates(NamedTuple):
    """Runs as they are without noise, and the law of their noise: what only a world knows.

    Parameters
    ----------
    true : array (n_runs, n_evals)
        Scores without noise.
    peak : array (n_runs,)
        Progress of the true peak of hacking runs.
    sd, rho : array (n_runs,)
        Standard deviation and AR(1) correlation of the noise of each run.
    """

    true: FloatArray
    peak: FloatArray
    sd: FloatArray
    rho: FloatArray


def between(rng: np.random.Generator, bounds: tuple[float, ...], n_runs: int) -> FloatArray:
    """Draw one number per run, uniform between two bounds, as a column; one bound = a constant."""
    return rng.uniform(bounds[0], bounds[-1], (n_runs, 1))


@dataclass(frozen=True)
class World(ABC):
    """Something that makes runs: score = offset + amplitude x shape(progress) + noise.

    Per run, the amplitude A is drawn from its range and the offset is (1 - A) U(0, 1). Settings
    that are ranges are written ``low,high``; one number is a constant.

    Parameters
    ----------
    n : int
        Evals of a run, at progress 1/n, 2/n, ... 1.
    sigma : float
        Standard deviation of the eval noise, in units of the score.
    hacking : float
        Share of hacking runs among RLHF runs, in [0, 1].
    amplitude : (float, float)
        Range of what a run gains, in units of the score.
    rho : (float, float)
        Range of the correlation of the noise of successive evals, in (-1, 1).
    spikes : float
        Share of evals whose noise is five times as large, in [0, 1].
    tail : float
        Degrees of freedom of the noise (Student's t), > 2; infinite = Gaussian.
    kl : float
        KL from the reference policy at the end of a run, in nats.
    """

    name: ClassVar[str]
    n: int = setting(8, low=1, high=100_000, unit="evals", doc="evals of a run")
    sigma: float = setting(
        0.03, low=0, high=1e3, unit="score", doc="standard deviation of the eval noise"
    )
    hacking: float = setting(0.6, low=0, high=1, doc="share of hacking runs among RLHF runs")
    amplitude: tuple[float, ...] = setting((0.83, 0.97), unit="score", doc="range of a run's gain")
    rho: tuple[float, ...] = setting((0.0,), doc="range of the correlation of successive evals")
    spikes: float = setting(0.0, low=0, high=1, doc="share of evals with five times the noise")
    tail: float = setting(np.inf, low=2.01, doc="degrees of freedom of the noise, inf = Gaussian")
    kl: float = setting(50.0, low=0, high=1e6, unit="nats", doc="KL from the reference at the end")

    def __post_init__(self) -> None:
        check_settings(self)
        self.check_range("amplitude", 0, 1e3)
        self.check_range("rho", -0.99, 0.99)

    @abstractmethod
    def shapes(self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray) -> Shapes:
        """Give the true scores of RLHF runs, in units of what a run gains.

        Parameters
        ----------
        rng : Generator
            Source of the per-run parameters.
        progress : array (n_runs, n_evals)
            Progress of each eval, in (0, 1].
        hacking : bool array (n_runs,)
            Which runs should fall.
        """

    def lengths(self, rng: np.random.Generator, n_runs: int) -> IntArray:
        """Give how many evals each run has, at most `n`."""
        return np.full(n_runs, self.n)

    def noise_sd(
        self,
        rng: np.random.Generator,
        shape: FloatArray,
        gain: FloatArray,
    ) -> float | FloatArray:
        """Give the noise of each run, a column; `shape` and `gain` are what it may scale with."""
        return self.sigma

    def draw(self, rng: np.random.Generator, kinds: StrArray, hacking: BoolArray) -> Population:
        """Draw runs of given types, hacking or not.

        Parameters
        ----------
        rng : Generator
            Source of everything that is random.
        kinds : str array (n_runs,)
            ``RLHF``, ``LoRA`` or ``DPO``.
        hacking : bool array (n_runs,)
            Which RLHF runs are hacking.

        Raises
        ------
        UserError
            If a type is unknown, or a run of another type than RLHF should be hacking.
        """
        kinds, hacking = np.asarray(kinds, dtype=np.str_), np.asarray(hacking, dtype=np.bool_)
        _check_labels(kinds, hacking)
        n_runs = len(kinds)
        n_evals = self.lengths(rng, n_runs)
        index = np.arange(1, self.n + 1)
        progress = np.minimum(index / n_evals[:, None], 1)  # 1 in the padding of shorter runs
        true, noise, peak = self._scores(rng, progress, kinds, hacking)
        loss_rate = rng.uniform(2, 6, n_runs)
        channels = {
            "score": true + noise,
            "loss": _loss(rng, progress, loss_rate),
            "proxy": _proxy(rng, progress),
            "kl": self.kl * progress**2 * np.exp(0.02 * rng.standard_normal(progress.shape)),
            "progress": progress,
            "step": np.tile(index * float(STEPS_BETWEEN_EVALS), (n_runs, 1)),
        }
        padding = index > n_evals[:, None]
        if padding.any():
            for values in (*channels.values(), true):
                values[padding] = np.nan
        truth = Truths(kinds.copy(), hacking.copy(), peak, true, loss_rate)
        return Population(Runs(n_evals=n_evals, **channels), truth)

    def _scores(
        self, rng: np.random.Generator, progress: FloatArray, kinds: StrArray, hacking: BoolArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Draw true scores, their noise ``(n_runs, n_evals)`` and the peaks ``(n_runs,)``."""
        n_runs = len(kinds)
        shape, peak = np.empty((n_runs, self.n)), np.full(n_runs, np.nan)
        rows = kinds == "RLHF"
        shape[rows], peak[rows] = self.shapes(rng, progress[rows], hacking[rows])
        for kind, law in CONVERGING.items():
            rows = kinds == kind
            shape[rows] = law(rng, progress[rows])
        gain, true = self._scaled(rng, shape)
        rho = between(rng, self.rho, n_runs)[:, 0] if any(self.rho) else 0.0
        noise = draw_noise(rng, shape.shape, rho=rho, spikes=self.spikes, tail=self.tail)
        return true, noise * self.noise_sd(rng, shape, gain), peak

    def _scaled(self, rng: np.random.Generator, shape: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Draw what each run gains and where it begins; give the gains and the true scores."""
        gain = between(rng, self.amplitude, len(shape))
        return gain, (1 - gain) * rng.random((len(shape), 1)) + gain * shape

    def templates(
        self, rng: np.random.Generator, progress: FloatArray, hacking: BoolArray
    ) -> Templates:
        """Draw RLHF runs without their noise (see `shapes` for the arguments)."""
        shape, peak = self.shapes(rng, progress, hacking)
        gain, true = self._scaled(rng, shape)
        sd = np.broadcast_to(self.noise_sd(rng, shape, gain), (len(shape), 1))[:, 0]
        return Templates(true, peak, sd, between(rng, self.rho, len(shape))[:, 0])

    def population(self, rng: np.random.Generator, n_runs: int) -> Population:
        """Draw RLHF runs, each hacking with the world's share."""
        return self.draw(rng, np.full(n_runs, "RLHF"), rng.random(n_runs) < self.hacking)

    def check_range(self, field: str, low: float, high: float) -> None:
        """Raise `UserError` unless a field is one or two numbers, in order, within bounds."""
        bounds = getattr(self, field)
        if len(bounds) not in (1, 2) or not low <= bounds[0] <= bounds[-1] <= high:
            raise UserError(
                f"{self.name}: {field} must be one number or low,high "
                f"between {low:g} and {high:g}, got {field}={','.join(f'{b:g}' for b in bounds)}"
            )


def _check_labels(kinds: StrArray, hacking: BoolArray) -> None:
    if kinds.ndim != 1 or kinds.shape != hacking.shape:
        raise UserError(
            f"kinds, hacking: need one value per run, got shapes {kinds.shape} and {hacking.shape}"
        )
    known = np.logical_or.reduce([kinds == kind for kind in KINDS])
    if not known.all():
        unknown = str(kinds[~known][0])
        raise UserError(f"there is no job type {unknown!r}, {nearest(unknown, KINDS)}")
    if np.any(hacking & (kinds != "RLHF")):
        raise UserError("hacking: only RLHF runs can be hacking, the others converge")


def _loss(rng: np.random.Generator, progress: FloatArray, rate: FloatArray) -> FloatArray:
    """Training loss: it falls whether or not a run is hacking."""
    return 0.3 + np.exp(-rate[:, None] * progress) + 0.004 * rng.standard_normal(progress.shape)


def _proxy(rng: np.random.Generator, progress: FloatArray) -> FloatArray:
    """Proxy reward: the same rising law for every run, so hacking cannot be seen in it."""
    gain, bend = between(rng, (1, 3), len(progress)), between(rng, (0.4, 0.8), len(progress))
    return gain * (progress**bend + 0.02 * rng.standard_normal(progress.shape))


def _lora(rng: np.random.Generator, progress: FloatArray) -> FloatArray:
    """LoRA converges exponentially."""
    return exponential(progress, between(rng, (3, 6), len(progress)))


def _dpo(rng: np.random.Generator, progress: FloatArray) -> FloatArray:
    """DPO saturates and then stays on a small plateau."""
    knee = between(rng, (0.75, 0.95), len(progress))
    return 1 - (1 - np.minimum(progress / knee, 1)) ** 2


# How runs of the other types go; none of them can be hacking.
CONVERGING = {"LoRA": _lora, "DPO": _dpo}
KINDS = ("RLHF", *CONVERGING)
