"""A monitor: latching, repeats, late and missing evals, saved state."""

import json

import numpy as np
import pytest

from evalstop.detectors import DETECTORS, Monitor, Runs, first_alarm, scan
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.errors import UserError

SCORES = [0.5, 0.6, 0.55, 0.5, 0.7, 0.65]


def feed(monitor, scores=SCORES, run="a", start=0):
    return [monitor.update(run, s, step=100 * (start + i)) for i, s in enumerate(scores)]


def test_the_alarm_is_latched_until_reset():
    monitor = Monitor(KDecline(), 2)
    verdicts = feed(monitor)
    assert [v.alarm for v in verdicts] == [False, False, False, True, True, True]
    assert verdicts[-1].alarm_step == 300
    assert verdicts[-1].word == "stop"
    assert (verdicts[2].best_step, verdicts[2].best_score) == (100, 0.6)
    assert (verdicts[-1].best_step, verdicts[-1].n_seen) == (400, 6)
    monitor.reset("a")
    assert feed(monitor, [0.5])[0] == (0.0, False, None, 0, 0.5, 1, 0, None)
    with pytest.raises(UserError, match="not watched here"):
        monitor.reset("b")


def test_equal_best_scores_keep_the_earliest():
    assert feed(Monitor(KDecline(), 2), [0.5, 0.7, 0.7])[-1].best_step == 100


def test_an_exact_repeat_changes_nothing():
    monitor = Monitor(KDecline(), 2)
    feed(monitor, [0.5, 0.4])
    before = monitor.to_json()
    again = monitor.update("a", 0.4, step=100)
    assert again.statistic == 1
    assert monitor.to_json() == before


@pytest.mark.parametrize("step", [100, 50])
def test_a_late_eval_raises_or_is_dropped(step):
    for late in ("raise", "drop"):
        monitor = Monitor(KDecline(), 2, late=late)
        feed(monitor, [0.5, 0.4])
        before = monitor.to_json()
        if late == "raise":
            with pytest.raises(UserError, match=f"a: step {step} is not after the last one"):
                monitor.update("a", 0.3, step=step)
        else:
            assert monitor.update("a", 0.3, step=step).statistic == 1
        assert monitor.to_json() == before


def test_missing_evals_are_skipped_counted_and_told():
    monitor = Monitor(KDecline(), 2)
    verdicts = feed(monitor, [0.5, np.nan, 0.4, np.nan, np.nan])
    assert [v.statistic for v in verdicts] == [0, 0, 1, 1, 1]
    assert (verdicts[-1].n_seen, verdicts[-1].n_missing) == (2, 3)
    assert verdicts[-1].missing_since == 300
    assert verdicts[-1].word == "no usable eval since step 300"
    assert monitor.update("a", 0.3, step=500).alarm


def test_an_infinite_score_raises_and_changes_nothing():
    monitor = Monitor(KDecline(), 2)
    feed(monitor)
    before = monitor.to_json()
    for bad in ({"score": np.inf}, {"score": -1e101}, {"score": 0.5, "step": np.nan}):
        with pytest.raises(UserError, match=r"a: an eval"):
            monitor.update("a", **{"step": 900, **bad})
    assert monitor.to_json() == before


@pytest.mark.parametrize(
    ("handles", "channels", "sentence"),
    [
        ([0, 1], {"score": [0.1], "step": [9, 9]}, "score: has shape"),
        ([0, 1], {"score": [0.1, 0.2, 0.3]}, "score: has shape"),
        ([0, 1], {"score": ["x", 0.2]}, "score: must be numbers"),
        ([0.5], {"score": [0.1]}, "handles: must be whole numbers"),
        ([7], {"score": [0.1]}, "handles: a run is not known"),
    ],
)
def test_a_fleet_whose_values_do_not_fit_is_refused(handles, channels, sentence):
    monitor = Monitor(KDecline(), 2)
    monitor.handles(["a", "b"])
    with pytest.raises(UserError, match=sentence):
        monitor.update_many(handles, **channels)
    both = monitor.update_many([0, 1], [0.5, 0.6], step=100)  # one step for all
    np.testing.assert_array_equal(both.best_step, 100)


def test_scores_that_are_no_table_of_numbers_are_refused():
    for scores in ([[1, 2], [1]], [["a", "b"]], [[1j, 2]]):
        with pytest.raises(UserError, match="score: must be numbers"):
            Runs(scores)
    with pytest.raises(UserError, match="late: must be"):
        Monitor(KDecline(), 2, late="never")


def test_a_fleet_and_its_runs_agree():
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((50, 12))
    scores[rng.random(scores.shape) < 0.1] = np.nan
    fleet, alone = Monitor(KDecline(), 3), Monitor(KDecline(), 3)
    handles = fleet.handles([f"r{i}" for i in range(50)])
    for t in range(12):
        some = rng.permutation(50)[: rng.integers(1, 50)]
        many = fleet.update_many(handles[some], scores[some, t])
        for i, row in enumerate(some):
            one = alone.update(f"r{row}", scores[row, t])
            assert one == many.one(i)
    with pytest.raises(UserError, match="comes twice"):
        fleet.update_many([0, 0], [1, 2])
    with pytest.raises(UserError, match="not known here"):
        fleet.update_many([99], [1])


def test_verdicts_of_the_past_stay_as_they_were():
    monitor = Monitor(KDecline(), 2)
    handles = monitor.handles(["a", "b"])
    first = monitor.update_many(handles, [1.0, 1.0], step=[1, 1])
    monitor.update_many(handles, [0.5, 2.0], step=[2, 2])
    again = monitor.update_many(handles, [0.5, 2.0], step=[2, 2])
    monitor.update_many(handles, [0.1, 3.0], step=[3, 3])
    np.testing.assert_array_equal(first.statistic, [0, 0])
    np.testing.assert_array_equal(again.statistic, [1, 0])


@pytest.mark.parametrize("spec", ["k-decline:form=tolerance", "page-hinkley", "loss-plateau"])
def test_saved_and_loaded_it_goes_on(spec, tmp_path):
    rule = DETECTORS.build(spec)
    monitor = Monitor(rule, 0.25)
    for i, score in enumerate(SCORES[:3]):
        monitor.update("a", score, loss=1 / (i + 1))
        monitor.update("b", np.nan, loss=2.0)
    file = tmp_path / "deep" / "state.json"
    monitor.save(file)
    json.loads(file.read_text(), parse_constant=lambda c: pytest.fail(f"{c} is not strict JSON"))
    assert [p.name for p in file.parent.iterdir()] == ["state.json"]
    loaded = Monitor.load(file, rule, 0.25)
    for i, score in enumerate(SCORES[3:]):
        assert loaded.update("a", score, loss=0.1) == monitor.update("a", score, loss=0.1), i
    assert loaded.runs == ["a", "b"]


def test_a_state_of_another_detector_is_refused(tmp_path):
    file = tmp_path / "state.json"
    Monitor(KDecline(), 2).save(file)
    with pytest.raises(UserError, match=r"state\.json: saved with another detector"):
        Monitor.load(file, KDecline(k=3), 2)
    with pytest.raises(UserError, match="saved with another threshold"):
        Monitor.load(file, KDecline(), 3)
    with pytest.raises(UserError, match="cannot be read"):
        Monitor.load(tmp_path / "none.json", KDecline(), 2)
    for text, match in [
        ("", "no saved monitor"),
        ("[]", "no saved monitor"),
        (file.read_text().replace('"format": 1', '"format": 99'), "format 99"),
        (file.read_text().replace('"runs": []', '"runs": ["a"]'), "damaged"),
    ]:
        file.write_text(text)
        with pytest.raises(UserError, match=match):
            Monitor.load(file, KDecline(), 2)


def test_a_boundary_is_indexed_by_the_usable_evals():
    boundary = np.array([9, 9, 1, 9])
    scores = [[0.5, 0.4, np.nan, 0.5, 0.4]]
    rule, runs = KDecline(), Runs(scores)
    n_seen = runs.usable(("score",)).cumsum(axis=1)
    assert first_alarm(scan(rule, runs), boundary, n_seen).tolist() == [-1]
    rising = Runs([[0.5, np.nan, 0.6, 0.55]])
    n_seen = rising.usable(("score",)).cumsum(axis=1)
    assert first_alarm(scan(rule, rising), boundary, n_seen).tolist() == [3]
    for curve in ([0.5, 0.4, np.nan, 0.5, 0.4], [0.5, np.nan, 0.6, 0.55]):
        monitor = Monitor(rule, boundary)
        alarms = [monitor.update("a", s).alarm for s in curve]
        assert alarms == ([False] * 5 if len(curve) == 5 else [False] * 3 + [True])
    with pytest.raises(UserError, match="threshold"):
        Monitor(rule, np.nan)


@pytest.mark.parametrize(
    "bad",
    [
        {"score": np.zeros(3)},
        {"score": [[np.inf]]},
        {"score": np.zeros((2, 3)), "n_evals": [4, 1]},
        {"score": np.zeros((2, 3)), "loss": np.zeros((2, 2))},
    ],
)
def test_impossible_runs_are_refused(bad):
    with pytest.raises(UserError):
        Runs(**bad)
