"""Random worlds to learn from: as many shapes, noises, lengths and scales as we can think of.

None is a world that a rule is ranked on. A world states ranges, a run draws from them: its score is
``offset + gain x shape + noise``, its shape a rise, perhaps with a plateau or a passing dip, and in
half of the runs a fall from a peak on. Worlds differ in how narrow their ranges are, so that a rule
learns what tells runs of *one* world apart, not worlds from each other.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evalstop.detectors.observation import FloatArray
from evalstop.simulator.truth import BoolArray
from evalstop.simulator.worlds.noise import draw_noise

SHORTEST, LONGEST = 5, 64
LAWS = 4
Range = tuple[float, float]


class Curves(NamedTuple):
    """Runs of equal length.

    Parameters
    ----------
    score : array (n_runs, n_evals)
        Observed.
    peak : array (n_runs,)
        Progress of the true peak, infinite in healthy runs.
    """

    score: FloatArray
    peak: FloatArray


@dataclass(frozen=True)
class RandomWorld:
    """Ranges that runs draw from, uniformly unless told otherwise.

    Parameters
    ----------
    n_evals : int
        Evals of a run.
    gao : float
        Share of runs by Gao's law of over-optimisation; the others have free shapes.
    sigma : (float, float)
        Noise of one eval (log-uniform): over a run's gain if `relative`, else in score units.
    gain, relative
        Range of the gain (log-uniform), and what `sigma` is measured in.
    rho, spikes, tail
        Correlation of successive errors, share of spikes, degrees of freedom.
    rises, falls : tuple of int
        Laws of rise and fall to draw from.
    rate, bend : (float, float)
        How fast a rise and a fall is, from 0 to 1.
    start : (float, float)
        Score at the start, over that at the peak.
    peak : (float, float)
        Progress of the peak.
    lost : (float, float)
        Share of the peak's score that is lost at the end.
    from_start, flat, plateau, dip, second : float
        Shares of runs that fall from the start on (of hacking runs), never move (of healthy runs),
        have a plateau before the peak or the end, a passing dip, a second lower peak.
    knee : (float, float)
        Where a plateau begins, over the progress of the peak.
    depth : (float, float)
        Depth of a dip, over the score.
    """

    n_evals: int
    gao: float
    sigma: Range
    gain: Range
    relative: bool
    rho: Range
    spikes: float
    tail: float
    rises: tuple[int, ...]
    falls: tuple[int, ...]
    rate: Range
    bend: Range
    start: Range
    peak: Range
    lost: Range
    from_start: float
    flat: float
    plateau: float
    dip: float
    second: float
    knee: Range
    depth: Range

    def draw(self, rng: np.random.Generator, n_runs: int) -> Curves:
        """Draw runs, half of them with a peak."""
        progress = np.arange(1, self.n_evals + 1) / self.n_evals
        falls = rng.random(n_runs) < 0.5
        shape, peak = self._free(rng, progress, falls)
        law = rng.random(n_runs) < self.gao
        law_shape, law_peak = self._gao(rng, progress, falls)
        shape, peak = np.where(law[:, None], law_shape, shape), np.where(law, law_peak, peak)
        gain = _log_uniform(rng, self.gain, n_runs)
        sigma = _log_uniform(rng, self.sigma, n_runs) * (gain if self.relative else 1)
        rho = rng.uniform(*self.rho, n_runs) if self.rho[1] else 0.0
        errors = draw_noise(rng, shape.shape, rho=rho, spikes=self.spikes, tail=self.tail)
        offset = np.maximum(1 - gain, 0) * rng.random(n_runs)
        score = offset[:, None] + gain[:, None] * shape + sigma[:, None] * errors
        return Curves(score, np.where(falls, peak, np.inf))

    def _free(
        self, rng: np.random.Generator, progress: FloatArray, falls: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Rise to a knee, stay there, and from the peak on fall."""
        n = len(falls)
        peak, share = rng.uniform(*self.peak, n), rng.uniform(*self.knee, n)
        harmed = falls & (rng.random(n) < self.from_start)
        flat = ~falls & (rng.random(n) < self.flat)
        peak = np.where(harmed, 0.0, peak)
        end = np.where(falls, peak, 1.0)
        knee = np.where(rng.random(n) < self.plateau, share, 1.0) * end
        # A law of the whole run that is cut at the knee, or one that has converged there.
        whole = np.where(rng.random(n) < 0.5, 1.0, np.maximum(knee, 1e-3))[:, None]
        start = np.where(harmed, rng.uniform(0.3, 1, n), rng.uniform(*self.start, n))[:, None]
        start = np.where(flat[:, None], 1, start)
        rise = _rise(rng, self.rises, self.rate, np.minimum(progress, knee[:, None]) / whole)
        shape = start + (1 - start) * rise

        dips = (rng.random(n) < self.dip) & ~harmed & ~flat
        depth = np.where(dips, rng.uniform(*self.depth, n), 0.0)[:, None]
        width = rng.uniform(0.02, 0.1, n)[:, None]
        moment = (rng.uniform(0.1, 0.85, n) * end)[:, None]
        shape = shape * (1 - depth * _bell(progress, moment, width))

        left = np.maximum(progress - peak[:, None], 0) / (1 - peak[:, None])
        lost = np.where(falls, rng.uniform(*self.lost, n), 0.0)[:, None]
        again = np.where(rng.random(n) < self.second, rng.uniform(0.2, 0.7, n), 0.0)[:, None]
        fall = _fall(rng, self.falls, self.bend, left) * (1 - again * _bell(left, 0.6, 0.12))
        return shape * (1 - lost * fall), peak

    def _gao(
        self, rng: np.random.Generator, progress: FloatArray, falls: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Follow z (1 - ln z), z = progress over peak; healthy runs peak late, or stay there."""
        n = len(falls)
        peak = np.where(falls, np.maximum(rng.uniform(*self.peak, n), 0.12), rng.uniform(1, 1.6, n))
        stays = ~falls & (rng.random(n) < self.plateau)
        peak = np.where(stays, np.maximum(rng.uniform(*self.knee, n), 0.12), peak)
        z = progress / peak[:, None]
        z = np.where(stays[:, None], np.minimum(z, 1), z)
        return z * (1 - np.log(z)), peak


def random_world(rng: np.random.Generator, *, gao: float, flat: float = 0.0) -> RandomWorld:
    """Draw a world.

    Parameters
    ----------
    gao : float
        Share of runs by Gao's law, in [0, .75]: some worlds follow it, some in half of their runs.
    flat : float
        Share of the worlds in which some or all healthy runs never move, in [0, 1].
    """
    small = rng.random() < 0.3  # metrics that move little, with noise as in real runs
    sigma = (0.02, 1.0) if small else (0.008, 0.15)
    noise = rng.choice(4, p=(0.6, 0.15, 0.15, 0.1))
    peak = _part(rng, 0.02, 0.95)
    return RandomWorld(
        n_evals=int(np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST + 1)))),
        gao=float(rng.choice((0.5, 1.0))) if rng.random() < gao / 0.75 else 0.0,
        sigma=_log_part(rng, *sigma),
        gain=_log_part(rng, *((0.03, 0.5) if small else (0.3, 1.0))),
        relative=small,
        rho=_part(rng, 0.1, 0.6) if noise == 1 else (0.0, 0.0),
        spikes=rng.uniform(0.05, 0.15) if noise == 2 else 0.0,
        tail=float(rng.choice((3.0, 4.0, 6.0))) if noise == 3 else np.inf,
        rises=_some(rng),
        falls=_some(rng),
        rate=_part(rng, 0, 1),
        bend=_part(rng, 0, 1),
        start=_part(rng, 0, 0.8) if rng.random() < 0.5 else (0.0, 0.0),
        peak=peak,
        lost=_part(rng, 0.04, 0.8),
        from_start=float(rng.choice((0, 0.1, 0.5, 1), p=(0.6, 0.2, 0.15, 0.05))),
        flat=float(rng.choice((0.2, 0.6, 1), p=(0.4, 0.4, 0.2))) * (rng.random() < flat),
        plateau=float(rng.choice((0, 0.3, 1), p=(0.4, 0.3, 0.3))),
        dip=float(rng.choice((0, 0.2, 1), p=(0.6, 0.2, 0.2))),
        second=float(rng.choice((0, 0.3), p=(0.8, 0.2))),
        knee=_part(rng, 0.0, 1.0),
        depth=_part(rng, 0.03, 0.35),
    )


# Shares of runs by Gao's law and of worlds in which some healthy runs never move.
GAO, FLAT = 0.3, 0.1
# What variants of a world take from another one, together.
PARTS = (
    ("sigma", "gain", "relative"),
    ("rho", "spikes", "tail"),
    ("gao", "rises", "falls", "rate", "bend"),
    ("start", "peak", "lost", "from_start"),
    ("plateau", "dip", "second", "knee", "depth"),
    ("flat",),
)


def random_family(rng: np.random.Generator, size: int) -> list[RandomWorld]:
    """Draw a world and variants of it that have its horizon; half of the families are `siblings`.

    In the other half a variant takes each of the `PARTS` from another world, or not. In the last
    world of half of the families no healthy run ever moves: no threshold may forget such a world.
    """
    if rng.random() < 0.5:
        drawn = siblings(rng)
        family = [drawn[i] for i in rng.permutation(len(drawn))[:size]]
    else:
        family = [random_world(rng, gao=GAO, flat=FLAT)]
        for _ in range(size - 1):
            other = random_world(rng, gao=GAO, flat=FLAT)
            taken = [field for part in PARTS if rng.random() < 0.5 for field in part]
            family.append(replace(family[0], **{field: getattr(other, field) for field in taken}))
    if rng.random() < 0.5:
        family[-1] = replace(family[-1], gao=0.0, flat=1.0)
    return family


def siblings(rng: np.random.Generator) -> list[RandomWorld]:
    """Draw a world and variants of it that differ in one thing each: noise, a plateau, a dip ..."""
    first = rng.uniform(0.15, 0.4)
    base = replace(
        random_world(rng, gao=0),
        n_evals=int(rng.integers(8, 31)),
        gao=float(rng.integers(2)),
        gain=(0.7, 1.0),
        relative=False,
        sigma=(0.03, 0.03),
        rho=(0.0, 0.0),
        spikes=0.0,
        tail=np.inf,
        start=(0.0, 0.0),
        peak=(first, first + 0.4),
        lost=(0.2, 0.6),
        from_start=0.0,
        plateau=0.0,
        dip=0.0,
        second=0.0,
        flat=0.0,
    )
    return [
        *(replace(base, sigma=(s, s)) for s in (0.01, 0.03, 0.06, 0.12)),
        replace(base, plateau=1.0, knee=(0.2, 0.8)),
        replace(base, rho=(0.4, 0.4)),
        replace(base, gao=0.0, dip=1.0, depth=(0.05, 0.15)),
        replace(base, peak=(0.6, 0.85)),
        replace(base, spikes=0.1),
        replace(base, sigma=(0.01, 0.12)),
        replace(base, n_evals=max(8, base.n_evals // 2)),
        replace(base, tail=4.0),
    ]


def _part(rng: np.random.Generator, low: float, high: float) -> Range:
    """Give a range: all of it now and then, else a random part."""
    width = 1.0 if rng.random() < 0.25 else rng.uniform(0.05, 0.6)
    begin = rng.uniform(0, 1 - width)
    return low + (high - low) * begin, low + (high - low) * (begin + width)


def _log_part(rng: np.random.Generator, low: float, high: float) -> Range:
    """Give a range on the logarithmic scale, most of the time a narrow one."""
    width = 1.0 if rng.random() < 0.2 else rng.uniform(0, 0.2)
    begin = rng.uniform(0, 1 - width)
    a, b = low * (high / low) ** np.array([begin, begin + width])
    return float(a), float(b)


def _log_uniform(rng: np.random.Generator, bounds: Range, n: int) -> FloatArray:
    drawn: FloatArray = np.exp(rng.uniform(np.log(bounds[0]), np.log(bounds[1]), n))
    return drawn


def _some(rng: np.random.Generator) -> tuple[int, ...]:
    """Give one law, or all."""
    return tuple(range(LAWS)) if rng.random() < 0.4 else (int(rng.integers(LAWS)),)


def _bell(x: FloatArray, centre: FloatArray | float, width: FloatArray | float) -> FloatArray:
    bell: FloatArray = np.exp(-0.5 * ((x - centre) / width) ** 2)
    return bell


def _rise(
    rng: np.random.Generator, laws: tuple[int, ...], rates: Range, p: FloatArray
) -> FloatArray:
    """Rise from 0 at 0 to 1 at 1: exponentially, as a power, logarithmically, as an S."""
    law, rate = rng.choice(laws, len(p))[:, None], rng.uniform(*rates, len(p))[:, None]
    c, k, steep = 0.3 + 7 * rate, 1 + 40 * rate**2, 4 + 8 * rate
    low, high = 1 / (1 + np.exp(0.4 * steep)), 1 / (1 + np.exp(-0.6 * steep))
    rise: FloatArray = np.choose(
        law,
        [
            np.expm1(-c * p) / np.expm1(-c),
            np.maximum(p, 1e-9) ** (0.2 + 1.1 * rate),
            np.log1p(k * p) / np.log1p(k),
            (1 / (1 + np.exp(-steep * (p - 0.4))) - low) / (high - low),
        ],
    )
    return rise


def _fall(
    rng: np.random.Generator, laws: tuple[int, ...], bends: Range, u: FloatArray
) -> FloatArray:
    """Fall from 0 at the peak to 1 at the end: as a power, at once, exponentially, to a floor."""
    law, bend = rng.choice(laws, len(u))[:, None], rng.uniform(*bends, len(u))[:, None]
    c = 0.5 + 6 * bend
    fall: FloatArray = np.choose(
        law,
        [
            u ** (0.5 + 2.5 * bend),
            np.minimum(u / (0.01 + 0.2 * bend), 1),
            np.expm1(-c * u) / np.expm1(-c),
            np.minimum(u / (0.2 + 0.8 * bend), 1) ** 1.3,
        ],
    )
    return fall
