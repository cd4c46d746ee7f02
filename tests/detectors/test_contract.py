"""The contract, held by every member of the zoo."""

import importlib
import pkgutil
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalstop.detectors as room
from evalstop.detectors import DETECTORS, Monitor, Observation, Runs, check_detector, scan, zoo
from evalstop.detectors.check import made_up_runs, streamed
from evalstop.detectors.observation import LARGEST
from evalstop.detectors.rules import PrefixRule, RecursiveRule, inputs_of, natural_threshold
from evalstop.detectors.settings import build, name_of, parse_spec, settings_of, spec_of
from evalstop.detectors.zoo import ZOO
from evalstop.errors import UserError

BLIND = {"never", "always"}  # a constant statistic: they look at nothing
STOPS_CONSTANTS = {"patience"}  # a constant sets no new best: by its definition it is stopped
VARIANTS = (
    "k-decline:k=1",
    "k-decline:form=tolerance",
    "k-decline:k=4,form=tolerance",
    "patience:evals=1",
    "ewma-drawdown:weight=1",
    "page-hinkley:delta=0,min_evals=5",
    "cusum:target=running-mean,sided=two",
    "cusum:target=given,mean=0.5,sigma=0.1,k=0",
    "ewma:target=running-mean,sided=two,weight=1",
    "ewma:target=given,limits=exact,sided=two",
    "cusum:target=running-mean,sigma=1",
    "ewma:target=given,sigma=1",
    "shiryaev-roberts:sigma=1",
    "shiryaev-roberts:on=levels,sigma=1",
    "bocpd:max_run_length=3,alpha=1.3,mean=0.5,sigma=0.1",
    "shiryaev-roberts:on=levels,target=given,sigma=0.1",
    "slope-glr:sigma=0.1",
    "step-glr:sided=two",
    "step-glr:sigma=0.1",
    "unimodal-glr:sigma=0.1",
    "unimodal-glr:sigma=0.1,guess_weight=4",
    "gao-fit:sigma=0.03,prior_df=1,trend_sd=3",
    "fused:sigma=0.03,weight=1",
    "e-process:sigma=0.1,horizon=4,shifts=1",
    "e-detector:sigma=0.1",
    "mann-kendall:window=4",
    "kalman-trend:sigma=0.1,level=0.5",
    "ruptures:sigma=0.1,min_size=1",
)

every_member = pytest.mark.parametrize("cls", ZOO, ids=name_of)
every_config = pytest.mark.parametrize("spec", [*map(name_of, ZOO), *VARIANTS])


@every_config
@settings(max_examples=10)  # each looks at 24 runs
@given(seed=st.integers(0, 2**32 - 1))
def test_contract(spec, seed):
    check_detector(DETECTORS.build(spec), seed=seed)


def scores_of(shape):
    """Curves that try a rule: ties, jumps, tiny and large scales, missing evals."""
    value = st.one_of(
        st.sampled_from([0.0, 0.5, 1.0, np.nan]),
        st.floats(-1e6, 1e6, allow_subnormal=False),
    )
    return st.lists(st.lists(value, min_size=1, max_size=shape), min_size=1, max_size=6)


@every_config
@given(curves=scores_of(12), permutation=st.randoms(use_true_random=False))
def test_any_curves_stream_as_they_scan(spec, curves, permutation):
    rule = DETECTORS.build(spec)
    ramps = [np.arange(1.0, len(c) + 1) for c in curves]
    channels = {
        "loss": [2 - r / 20 for r in ramps],
        "proxy": ramps,
        "kl": [r**2 for r in ramps],
        "progress": [r / len(r) for r in ramps],
        "step": ramps,
    }
    runs = Runs.of(curves, **channels)
    whole = scan(rule, runs)
    assert not np.isnan(whole).any()
    close = {"rtol": 0} if isinstance(rule, RecursiveRule) else {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(streamed(rule, runs), whole, **close)
    order = list(range(len(curves)))
    permutation.shuffle(order)
    np.testing.assert_allclose(scan(rule, runs.take(np.array(order))), whole[order], **close)


@every_member
def test_finds_a_clear_decline_and_is_silent_on_a_constant(cls):
    rule = cls()
    if name_of(cls) in BLIND or inputs_of(rule) == ("progress",):
        pytest.skip("it does not look at the scores")
    n = 20
    p = np.arange(1, n + 1) / n
    rise_and_fall = np.where(p < 0.5, p, 1 - p)
    noise = np.random.default_rng(1).standard_normal((2, 200, n)) * 0.01
    # The loss of a healthy run falls all along, that of a stalled run does not.
    falls, stalls = 2 - p, np.where(p < 0.5, 2 - p, 1.5)
    if "loss" in inputs_of(rule):
        healthy = Runs(p + noise[0], loss=falls * np.ones((200, 1)))
        declined = Runs(rise_and_fall + noise[1], loss=stalls * np.ones((200, 1)))
    else:
        ones = np.ones((200, 1))
        extra = {"proxy": p * ones + noise[0], "kl": p**2 * ones, "progress": p * ones}
        healthy, declined = (
            Runs(m + e, **extra) for m, e in zip((p, rise_and_fall), noise, strict=True)
        )
    calm, alarmed = (scan(rule, runs).max(axis=1) for runs in (healthy, declined))
    assert np.median(alarmed) > np.quantile(calm, 0.95)

    constant = Runs(
        np.full((1, n), 0.5),
        loss=falls[None],
        proxy=np.full((1, n), 0.5),
        kl=np.zeros((1, n)),
        progress=p[None],
    )
    if name_of(cls) not in STOPS_CONSTANTS:
        quiet = scan(rule, constant).max()
        assert quiet < np.quantile(alarmed, 0.05)
        threshold = natural_threshold(rule)
        assert threshold is None or quiet < threshold


def size(state):
    """Count the numbers of a state: arrays, or NamedTuples of them."""
    return sum(map(size, state)) if isinstance(state, tuple) else state.size


@every_member
def test_state_is_bounded(cls):
    rule = cls()
    if isinstance(rule, PrefixRule) and not isinstance(rule, RecursiveRule):
        pytest.skip("a prefix rule keeps the scores: they are what it needs")
    runs = made_up_runs(np.random.default_rng(0), n_runs=4)
    state, sizes = rule.init(4), []
    for t in range(600):
        seen = {c: np.nan_to_num(getattr(runs, c)[:, t % 15]) for c in inputs_of(rule)}
        state, _ = rule.step(state, Observation(**seen))
        sizes.append(size(state))
    assert sizes[-1] == sizes[299], "the state still grows after 300 evals"


@every_member
def test_settings_survive_the_command_line(cls):
    rule = cls()
    name, settings = parse_spec(spec_of(rule))
    assert build(DETECTORS.find(name), settings) == rule
    known = int | float | str | bool | tuple | None
    assert all(isinstance(v, known) for v in settings_of(rule).values())
    assert cls.__doc__
    assert not cls.__doc__.startswith(cls.__name__ + "("), "a member says what it does"


def test_every_file_of_the_zoo_is_registered():
    modules = {m.name for m in pkgutil.iter_modules(zoo.__path__)}
    registered = {cls.__module__.rsplit(".", 1)[1] for cls in ZOO}
    assert modules == registered
    assert len({name_of(cls) for cls in ZOO}) == len(ZOO)


@pytest.mark.parametrize("module", ["detectors", "simulator", "benchmarks", "studies"])
def test_every_exported_name_resolves(module):
    room = importlib.import_module(f"evalstop.{module}")
    for name in getattr(room, "__all__", ()):
        assert getattr(room, name) is not None


class Best(NamedTuple):
    best: np.ndarray


class Cheat:
    """Declares the score and reads the loss."""

    inputs = ("score",)

    def init(self, n_runs):
        return Best(np.zeros(n_runs))

    def step(self, state, observation):
        return state, observation.loss * 1.0


def test_an_undeclared_channel_is_out_of_reach():
    runs = made_up_runs(np.random.default_rng(0))
    with pytest.raises(UserError, match="TypeError"):
        scan(Cheat(), runs)
    with pytest.raises(UserError, match="TypeError"):
        Monitor(Cheat(), 1.0).update("a", 0.5, loss=1.0)


@every_config
def test_the_largest_values_that_are_let_in_do_not_overflow(spec):
    rng = np.random.default_rng(0)
    score = rng.uniform(-LARGEST, LARGEST, (6, 20))
    score[:3] = LARGEST * np.array([np.linspace(0, 1, 20), np.linspace(1, -1, 20), np.ones(20)])
    score[3] = LARGEST * rng.choice([-1, 1], 20)
    progress = np.tile(np.arange(1, 21) / 20, (6, 1))
    channels = {"loss": score, "proxy": -score, "kl": np.abs(score), "step": progress}
    statistics = scan(DETECTORS.build(spec), Runs(score, progress=progress, **channels))
    assert not np.isposinf(statistics).any()


@pytest.mark.parametrize("value", [1.01 * LARGEST, -1.01 * LARGEST, np.inf, -np.inf])
def test_larger_values_are_refused(value):
    with pytest.raises(UserError, match=r"loss: has a value beyond 1e\+100, write NaN"):
        Runs(np.zeros((1, 2)), loss=np.array([[0.5, value]]))


def test_a_declared_channel_that_is_not_there_is_an_error():
    with pytest.raises(UserError, match=r"loss: the detector reads it, the runs do not have it"):
        scan(DETECTORS.build("loss-plateau"), Runs(np.zeros((2, 3))))
    with pytest.raises(UserError, match=r"loss: the detector reads it, give it with every eval"):
        Monitor(DETECTORS.build("loss-plateau"), 0.0).update("a", 0.5)


class PlainState(Cheat):
    """Its state is no NamedTuple: it could not be saved."""

    def init(self, n_runs):
        return (np.zeros(n_runs),)


def test_a_state_without_names_is_refused():
    with pytest.raises(UserError, match="PlainState: init must give a NamedTuple"):
        Monitor(PlainState(), 1.0)


class Future:
    """Looks at the whole curve of the batch: wrong in three ways."""

    def statistic(self, prefix):
        return prefix.max(axis=1) - prefix.mean()


class Leaky:
    """Changes its state in place."""

    def init(self, n_runs):
        return Best(np.full(n_runs, -np.inf))

    def step(self, state, observation):
        np.maximum(state.best, observation.score, out=state.best)
        return state, state.best - observation.score


class Nan:
    def statistic(self, prefix):
        return np.full(len(prefix), np.nan)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [(Future(), "equal|influence"), (Leaky(), "untouched"), (Nan(), "never be NaN")],
)
def test_the_contract_test_catches_bad_rules(rule, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_detector(rule)


class Raises:
    def statistic(self, prefix):
        raise KeyError("boo")


class Quits:
    def statistic(self, prefix):
        raise SystemExit(3)


class Wide:
    def statistic(self, prefix):
        return np.zeros((len(prefix), 2))


class Lone:
    """One number for all runs: right for a run alone, and spread over all others by numpy."""

    def statistic(self, prefix):
        return prefix.max() - prefix[0, -1]


class LoneStep(Leaky):
    """The same, as a recursive rule."""

    def step(self, state, observation):
        return state, observation.score.max()


class Overwrites:
    def statistic(self, prefix):
        prefix[:] = 0
        return prefix[:, -1]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (Raises(), "Raises: the detector fails .KeyError"),
        (Quits(), "Quits: the detector fails .SystemExit"),
        (Wide(), "Wide: the detector fails"),
        (Lone(), r"Lone: the detector fails .*shape \(\), it must be \(1,\)"),
        (LoneStep(), r"LoneStep: the detector fails .*shape \(\), it must be \(1,\)"),
        (Overwrites(), "Overwrites: the detector fails .*read-only"),
        (Nan(), "Nan: its statistic is NaN"),
    ],
)
def test_a_rule_that_fails_is_named_and_changes_no_score(rule, sentence):
    runs = Runs(np.array([[0.1, 0.3, 0.2]]))
    with pytest.raises(UserError, match=sentence):
        scan(rule, runs)
    np.testing.assert_array_equal(runs.score, [[0.1, 0.3, 0.2]])
    if not isinstance(rule, Overwrites):  # a monitor hands out copies
        with pytest.raises(UserError, match=sentence):
            Monitor(rule, 1.0).update("a", 0.5)


def test_the_room_needs_numpy_only():
    code = (
        "import sys, evalstop.detectors\n"
        "top = {m.split('.')[0] for m in sys.modules}\n"
        "print(sorted(top - set(sys.stdlib_module_names) - {'numpy', 'evalstop', '__main__'}))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    numpys_own = {"cython_runtime"}
    loaded = {m for m in eval(told.stdout) if not m.startswith("_")} - numpys_own
    assert not loaded, f"import evalstop.detectors loads {loaded}"
    assert room.scan is scan
