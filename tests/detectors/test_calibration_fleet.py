"""The share of wrong stops over a fleet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Runs, scan
from evalstop.detectors.calibration import (
    Calibration,
    FlatNoise,
    FlatNull,
    HealthyNull,
    best_null,
    exact,
    flat,
    load,
    rejected,
    save,
)
from evalstop.detectors.logs.curve import Curve, Reading
from evalstop.detectors.logs.eval_runs import eval_runs
from evalstop.detectors.watching import judge_fleet
from evalstop.errors import UserError

SIGMA, N_EVALS, N_RUNS, LEVEL = 0.1, 12, 40, 0.2


def fleets(n_fleets, seed, bad=0.3):
    """Converged runs, of which some fall in their second half; which are bad."""
    rng = np.random.default_rng(seed)
    shape = (n_fleets, N_RUNS, N_EVALS)
    falls = rng.random(shape[:2]) < bad
    depth = np.maximum(np.arange(N_EVALS) - 5, 0) / 6
    return SIGMA * rng.standard_normal(shape) - falls[:, :, None] * depth * 0.8, falls


def null_for(rule, method):
    if method == "conformal":
        healthy = SIGMA * np.random.default_rng(8).standard_normal((400, N_EVALS))
        return HealthyNull(rule, Runs(healthy), np.arange(400))
    if method == "flat":
        return FlatNull(rule, FlatNoise(sigma=SIGMA))
    return best_null(rule)


@pytest.mark.parametrize(
    ("spec", "method"),
    [
        ("k-decline", "exact"),
        ("mann-kendall", "exact"),
        ("drawdown", "flat"),
        ("slope-glr", "flat"),
        ("drawdown", "conformal"),
        ("e-process:sigma=0.1,horizon=12", "e"),
    ],
)
def test_the_share_of_wrong_stops_is_within_the_level(spec, method):
    rule, n_fleets = DETECTORS.build(spec), 150
    scores, falls = fleets(n_fleets, seed=11)
    statistics = scan(rule, Runs(scores.reshape(-1, N_EVALS)))
    if method == "e":
        p_values = np.exp(-statistics[:, -1])
    else:
        null = null_for(rule, method)
        largest = statistics.max(axis=1)
        known = {s: null.p_value(float(s), N_EVALS) for s in np.unique(largest)}
        p_values = np.array([known[s] for s in largest])
    wrong, found = [], []
    for p, bad in zip(p_values.reshape(n_fleets, N_RUNS), falls, strict=True):
        stops = rejected(p, np.arange(N_RUNS), LEVEL).stops
        wrong.append((stops & ~bad).sum() / max(stops.sum(), 1))
        found.append((stops & bad).sum() / max(bad.sum(), 1))
    error = 4 * np.std(wrong) / np.sqrt(n_fleets)
    assert np.mean(wrong) <= LEVEL + error
    assert spec == "k-decline" or np.mean(found) > 0.5


@given(
    p=st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02, 0.05]), min_size=1, max_size=12),
    level=st.floats(0.001, 0.999),
)
def test_it_is_benjamini_and_hochbergs_procedure(p, level):
    from scipy.stats import false_discovery_control

    told = rejected(np.array(p), np.arange(len(p)), level)
    adjusted = false_discovery_control(p)
    clear = np.abs(adjusted - level) > 1e-9
    assert (told.stops == (adjusted <= level))[clear].all()


def test_metrics_of_one_run_are_corrected():
    p, groups = np.array([0.02, 0.5, 0.03, 0.9]), np.array([0, 0, 1, 1])
    told = rejected(p, groups, 0.1)
    assert told.adjusted.tolist() == pytest.approx([0.04, 1.0, 0.06, 1.0])
    assert told.stops.tolist() == [True, False, True, False]
    assert not rejected(p, groups, 0.03).stops.any()


@pytest.mark.parametrize("level", [0.0, 1.0, -1, np.nan])
def test_what_is_no_level_is_refused(level):
    with pytest.raises(UserError, match="fdr: must be between 0 and 1"):
        rejected(np.array([0.5]), np.array([0]), level)


def as_logs(scores, source=""):
    steps = 10.0 * np.arange(1, scores.shape[1] + 1)
    return eval_runs(
        Reading(
            curves=[
                Curve(f"run-{i}", "acc", "eval", True, steps, row, source=source)
                for i, row in enumerate(scores)
            ]
        )
    )


@pytest.mark.parametrize("spec", ["k-decline", "slope-glr", "e-process:sigma=0.1,horizon=12"])
def test_judging_logs_is_the_same(spec):
    rule = DETECTORS.build(spec)
    scores, _ = fleets(1, seed=3)
    null = best_null(rule)
    fleet = judge_fleet(as_logs(scores[0]), rule, null, LEVEL)
    statistics = scan(rule, Runs(scores[0]))
    if spec.startswith("e-"):
        p = np.exp(-statistics[:, -1])
    else:
        p = np.array([null.p_value(float(s), N_EVALS) for s in statistics.max(axis=1)])
    told = rejected(p, np.arange(N_RUNS), LEVEL)
    assert [w.stop for w in fleet.watched] == told.stops.tolist()
    assert told.stops.any()
    values = np.array([w.evidence.value for w in fleet.watched])
    if spec.startswith("e-"):
        values = 1 / values
    assert values == pytest.approx(told.adjusted)
    assert fleet.warnings == []
    promise = fleet.watched[0].promise
    assert promise.startswith(
        "at most 20% of the stops among the 40 runs judged are wrong, on average"
    )
    assert ("e-values" in promise) == spec.startswith("e-")


def test_few_healthy_runs_can_stop_nobody_and_say_so():
    rule = DETECTORS.build("drawdown")
    scores, _ = fleets(1, seed=3)
    healthy = HealthyNull.of(rule, as_logs(SIGMA * np.zeros((10, N_EVALS))))
    fleet = judge_fleet(as_logs(scores[0]), rule, healthy, 0.1)
    (told,) = fleet.warnings
    assert "no p-value is below 0.091" in told
    assert "fewer than 37 bad runs among the 40 judged are never stopped" in told
    short = HealthyNull.of(rule, as_logs(np.zeros((10, 4))))
    (told,) = judge_fleet(as_logs(scores[0]), rule, short, 0.1).warnings
    assert "no run is ever stopped" in told


def test_what_is_saved_is_read_again(tmp_path):
    file = tmp_path / "a" / "calibration.json"
    rule = DETECTORS.build("mann-kendall")
    for found in (
        exact(rule, 0.05, 8),
        exact(rule, 0.05, 2),
        flat(rule, 0.05, 8, FlatNoise(runs=1000), boundary=True),
    ):
        save(found, file)
        assert load(file) == found
        assert "Infinity" not in file.read_text()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1}', '{"format": 7}', '{"format": 1, "threshold": "x"}']
)
def test_what_is_no_calibration_is_refused(text, tmp_path):
    file = tmp_path / "calibration.json"
    file.write_text(text)
    with pytest.raises(UserError, match="calibrate again"):
        load(file)
    with pytest.raises(UserError, match="cannot be read"):
        load(tmp_path / "none.json")


def test_a_promise_in_words():
    told = Calibration("x", 1.0, 0.05, 0.0493, (0.047, 0.0512), 20, "flat", "so and so")
    assert told.promise == (
        "at most 5% false stops within 20 evals (flat, realised 4.93% [4.7%, 5.12%]: so and so)"
    )
