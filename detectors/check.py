"""The contract of the zoo, as a test that anybody can run on a detector of their own."""

import copy
from typing import Any

import numpy as np

from evalstop.detectors.monitor import Monitor
from evalstop.detectors.observation import CHANNELS, FloatArray, Observation, Runs
from evalstop.detectors.rules import Detector, PrefixRule, RecursiveRule, inputs_of, recursive
from evalstop.detectors.scan import scan
from evalstop.errors import UserError


def check_detector(detector: Detector, *, seed: int = 0) -> None:
    """Raise `AssertionError`, with a sentence, if a detector breaks the contract of the zoo.

    Checked on made-up runs (ragged, with missing evals, of several scales): the statistic is never
    NaN; ``scan`` equals streaming (bit for bit for recursive rules, to 1e-9 for prefix rules); only
    the past counts; runs do not influence each other; inputs and states are left untouched; a saved
    monitor goes on as if nothing had happened; undeclared channels are not read.

    Parameters
    ----------
    detector : Detector
        The config to check.
    seed : int
        Seed of the made-up runs.

    Examples
    --------
    >>> from evalstop.detectors.zoo.drawdown import Drawdown
    >>> check_detector(Drawdown())
    """
    runs = made_up_runs(np.random.default_rng(seed))
    exact = isinstance(detector, RecursiveRule) or not isinstance(detector, PrefixRule)
    before = copy.deepcopy(runs)
    try:
        whole = scan(detector, runs)
    except UserError as error:
        raise AssertionError(str(error)) from error
    assert whole.shape == runs.score.shape, "scan must give one statistic for each eval"
    for channel in CHANNELS:
        np.testing.assert_array_equal(
            getattr(runs, channel), getattr(before, channel), f"scan has changed the {channel}"
        )

    _same(whole, streamed(detector, runs), exact, "streaming eval by eval must equal scan")
    _same(whole, streamed(detector, runs, resume=True), exact, "a saved monitor must go on equally")

    order = np.random.default_rng(seed).permutation(len(runs))
    alone = np.concatenate([scan(detector, runs.take(order[i : i + 1])) for i in range(len(order))])
    _same(whole[order], alone, exact, "runs must not influence each other")

    cut = runs.score.shape[1] // 2
    past = {c: getattr(runs, c)[:, :cut] for c in CHANNELS}
    early = scan(detector, Runs(n_evals=np.minimum(runs.n_evals, cut), **past))
    _same(whole[:, :cut], early, exact, "the statistic must depend on the past only")

    _check_purity(detector, runs)


def made_up_runs(rng: np.random.Generator, n_runs: int = 24, n_evals: int = 15) -> Runs:
    """Make runs with every channel: noise, rises and falls, ragged, with missing evals."""
    p = np.arange(1, n_evals + 1) / n_evals
    peak = rng.uniform(0.1, 1.3, (n_runs, 1))
    scale = 10.0 ** rng.integers(-2, 3, (n_runs, 1))
    mean = np.where(p < peak, p / peak, 1 - (p - peak))
    score = scale * (mean + 0.1 * rng.standard_normal((n_runs, n_evals)))
    score[0] = score[0, 0]  # constant
    score[1] = np.round(score[1] / scale[1], 1)  # ties
    missing = rng.random((n_runs, n_evals)) < 0.15
    missing[2] = True  # not one usable eval
    missing[3] = False
    ones = np.ones((n_runs, 1))
    return Runs(
        np.where(missing, np.nan, score),
        rng.integers(0, n_evals + 1, n_runs),
        loss=0.3 + np.exp(-3 * p) + 0.01 * rng.standard_normal((n_runs, n_evals)),
        proxy=np.where(rng.random((n_runs, n_evals)) < 0.05, np.nan, p * scale),
        kl=p**2 * ones,
        progress=p * ones,
        step=100 * np.arange(1.0, n_evals + 1) * ones,
    )


def streamed(detector: Detector, runs: Runs, *, resume: bool = False) -> FloatArray:
    """Feed runs to a `Monitor` eval by eval (all runs at once, then one by one near the end)."""
    monitor = Monitor(detector, np.inf)
    statistics = np.full(runs.score.shape, -np.inf)
    handles = monitor.handles([str(i) for i in range(len(runs))])
    for t in range(runs.score.shape[1]):
        rows = np.flatnonzero(t < runs.n_evals)
        channels = {c: getattr(runs, c) for c in CHANNELS}
        if resume and t == runs.score.shape[1] // 2:
            monitor = Monitor.from_json(monitor.to_json(), detector, np.inf)
        if t < runs.score.shape[1] - 3:
            given: dict[str, Any] = {c: v[rows, t] for c, v in channels.items()}
            statistics[rows, t] = monitor.update_many(handles[rows], **given).statistic
        else:
            for row in rows:
                alone: dict[str, Any] = {c: float(v[row, t]) for c, v in channels.items()}
                statistics[row, t] = monitor.update(str(row), **alone).statistic
    return statistics


def _same(ours: FloatArray, theirs: FloatArray, exact: bool, sentence: str) -> None:
    if exact:
        np.testing.assert_array_equal(ours, theirs, sentence)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12, err_msg=sentence)


def _check_purity(detector: Detector, runs: Runs) -> None:
    """Check that a step changes neither its state nor its observation."""
    rule = recursive(detector)
    channels = {c: np.nan_to_num(getattr(runs, c)) for c in inputs_of(detector)}
    state = rule.init(len(runs))
    for t in range(4):
        seen = Observation(**{c: np.ascontiguousarray(v[:, t]) for c, v in channels.items()})
        kept = copy.deepcopy((state, seen))
        after, first = rule.step(state, seen)
        _, second = rule.step(state, seen)
        for a, b in zip(_flat((state, seen)), _flat(kept), strict=True):
            np.testing.assert_array_equal(a, b, "step must leave its state and input untouched")
        np.testing.assert_array_equal(first, second, "step must depend on its arguments only")
        for array in _flat(after):
            assert len(array) == len(runs), "each array of a state must have the runs as first axis"
        state = after


def _flat(part: Any) -> list[Any]:  # noqa: ANN401 - nested tuples of arrays
    if isinstance(part, tuple):
        return [leaf for p in part for leaf in _flat(p)]
    return [] if part is None else [part]
