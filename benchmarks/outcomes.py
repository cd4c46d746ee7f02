"""What an alarm, or none, did to every single run."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalstop.benchmarks.population import BoolArray, LabelledRuns
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.errors import UserError


class Delays(NamedTuple):
    """Evals from the first eval at or after the peak (that one = 0), ``(n,)`` each; -1 = none.

    Parameters
    ----------
    delay : int array
        To the first alarm of a hacking run; none if it has no alarm or a premature one.
    follow_up : int array
        To the last eval of a hacking run; none if its alarm is premature. A run without an alarm is
        censored there.
    """

    delay: IntArray
    follow_up: IntArray


class Outcomes(NamedTuple):
    """One value per run, ``(n,)`` each; indices count evals from 0, -1 = none.

    Parameters
    ----------
    alarm : int array
        First alarm of a run that may be stopped.
    post_peak : bool array
        Hacking run with its first alarm at or after its peak and before its last eval.
    premature : bool array
        Hacking run with its first alarm before its peak.
    at_last : bool array
        The first alarm is at the last eval.
    delays : Delays
        See there.
    saved, saved_any : array
        GPU-time of a hacking run after its stop and after its peak; `saved` gives premature stops
        nothing.
    post_peak_hours : array
        GPU-time of a hacking run after its peak; 0 for other runs.
    kept, kept_best, kept_k_back : int array
        Checkpoint that is kept: the best observed up to the alarm, `kept_k_back` the one k evals
        before it. A run never stopped keeps its last, its best, none.
    regret, regret_best, regret_k_back : array
        What the kept checkpoint's true score lacks to the run's best, as a share of the run's
        range; NaN where none is kept.
    """

    alarm: IntArray
    post_peak: BoolArray
    premature: BoolArray
    at_last: BoolArray
    delays: Delays
    saved: FloatArray
    saved_any: FloatArray
    post_peak_hours: FloatArray
    kept: IntArray
    kept_best: IntArray
    kept_k_back: IntArray
    regret: FloatArray
    regret_best: FloatArray
    regret_k_back: FloatArray


def outcomes(population: LabelledRuns, alarms: ArrayLike, k_back: int | None = None) -> Outcomes:
    """Judge the first alarm of every run.

    Parameters
    ----------
    population : LabelledRuns
        The runs.
    alarms : int array (n,)
        Index of the eval of each run's first alarm, -1 = none (what `first_alarm` gives).
    k_back : int, optional
        How many evals before its alarm a rule looks for the best checkpoint (`k_back_of`).
    """
    p, alarm = population, _stops(population, alarms)
    last, alarmed, hacking = p.n_evals - 1, alarm >= 0, p.hacking
    p_stop = p.progress[np.arange(len(p)), alarm]  # at -1 a value that is never read
    reached = hacking & alarmed & (p_stop >= p.peak)
    hours = np.where(hacking, p.gpu_hours, 0.0)
    peak = np.where(hacking, p.peak, 1.0)
    saved_any = np.where(alarmed, hours * (1 - np.maximum(p_stop, peak)), 0.0)

    best_so_far = _best(p, np.where(alarmed, alarm, last))
    kept = np.where(alarmed, best_so_far, last)
    none = np.full(len(p), -1)
    k_before = none if k_back is None else np.where(alarmed, np.maximum(alarm - k_back, 0), -1)
    return Outcomes(
        alarm=alarm,
        post_peak=reached & (alarm < last),
        premature=hacking & alarmed & ~reached,
        at_last=alarmed & (alarm == last),
        delays=delays(p, alarm),
        saved=np.where(reached, saved_any, 0.0),
        saved_any=saved_any,
        post_peak_hours=hours * (1 - peak),
        kept=kept,
        kept_best=best_so_far,
        kept_k_back=k_before,
        regret=_regret(p, kept),
        regret_best=_regret(p, best_so_far),
        regret_k_back=_regret(p, k_before),
    )


def k_back_of(rule: object) -> int | None:
    """Give how many evals before its alarm a rule looks for the best checkpoint, if it says so."""
    return rule.k if isinstance(rule, KDecline) else None


def delays(population: LabelledRuns, alarms: ArrayLike) -> Delays:
    """Count the evals from the peak to the alarm and to the end of the run."""
    p, alarm = population, _stops(population, alarms)
    after_peak = p.hacking[:, None] & p.valid & (p.progress >= p.peak[:, None])
    first = after_peak.argmax(axis=1)
    counted = after_peak.any(axis=1) & ((alarm < 0) | (alarm >= first))
    return Delays(
        np.where(counted & (alarm >= 0), alarm - first, -1),
        np.where(counted, p.n_evals - 1 - first, -1),
    )


def _stops(population: LabelledRuns, alarms: ArrayLike) -> IntArray:
    """Give the alarms on runs that may be stopped."""
    alarm = np.asarray(alarms, dtype=np.int64)
    if alarm.shape != (len(population),) or (alarm >= population.n_evals).any():
        raise UserError("alarms: need one eval of each run (its index, -1 = none)")
    return np.where(population.stoppable, np.maximum(alarm, -1), -1)


def _best(population: LabelledRuns, upto: IntArray) -> IntArray:
    """Give the earliest best observed eval up to and including `upto`, -1 if all are missing."""
    seen = np.arange(population.observed.shape[1]) <= upto[:, None]
    scores = np.where(seen & ~np.isnan(population.observed), population.observed, -np.inf)
    best = scores.argmax(axis=1)
    return np.where(np.isneginf(scores[np.arange(len(best)), best]), -1, best)


def _regret(population: LabelledRuns, kept: IntArray) -> FloatArray:
    """Give what the kept checkpoints lack; where all true scores are equal nothing can be lost."""
    true, told = population.true, population.valid & ~np.isnan(population.true)
    highest = np.where(told, true, -np.inf).max(axis=1, initial=-np.inf)
    lowest = np.where(told, true, np.inf).min(axis=1, initial=np.inf)
    lost = highest - true[np.arange(len(kept)), kept]
    scale = highest - lowest
    share = np.divide(lost, scale, out=np.zeros_like(lost), where=scale > 0)
    return np.where((kept >= 0) & np.isfinite(lost), share, np.nan)
