"""The charts of the zoo against their definitions, written out run by run."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Runs, first_alarm, scan
from evalstop.detectors.noise import noise
from evalstop.detectors.rules import is_monotone

RIVER = Path(__file__).parents[1] / "data" / "golden" / "river_docs_stream.json"
SCORES = st.lists(st.floats(-100, 100).map(lambda v: round(v, 3)), min_size=1, max_size=15)
UNKNOWN = -math.inf


def statistics(spec, scores):
    return scan(DETECTORS.build(spec), Runs.of([scores]))[0]


def reference(target, scores, t):
    """Target of eval t, None if it is not known yet."""
    before = scores[:t]
    match target:
        case "given":
            return 0.0
        case "running-mean":
            return np.mean(before) if t else None
        case "best-so-far":
            return np.mean(sorted(before)[-3:]) if t >= 3 else None


def over_noise(value, scores, t):
    sigma = noise(np.array([scores[: t + 1]]))[0] if t else 0.0
    return value / sigma if sigma > 0 else 0.0


targets = pytest.mark.parametrize("target", ["given", "running-mean", "best-so-far"])


@targets
@pytest.mark.parametrize("sided", ["one", "two"])
@given(scores=SCORES)
def test_cusum(target, sided, scores):
    fall, rise, expected = 0.0, 0.0, []
    for t, score in enumerate(scores):
        level = reference(target, scores, t)
        if level is None:
            expected.append(UNKNOWN)
            continue
        deviation = over_noise(level - score, scores, t)
        fall, rise = max(0, fall + deviation - 0.5), max(0, rise - deviation - 0.5)
        expected.append(fall if sided == "one" else max(fall, rise))
    ours = statistics(f"cusum:k=0.5,target={target},sided={sided}", scores)
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)


@targets
@pytest.mark.parametrize("sided", ["one", "two"])
@pytest.mark.parametrize("limits", ["fixed", "exact"])
@given(scores=SCORES)
def test_ewma(target, sided, limits, scores):
    smooth, expected = (0.0 if target == "given" else scores[0]), []
    for t, score in enumerate(scores):
        smooth = 0.7 * smooth + 0.3 * score
        level = reference(target, scores, t)
        if level is None:
            expected.append(UNKNOWN)
            continue
        variance = 0.3 / 1.7 * (1 - 0.7 ** (2 * (t + 1)) if limits == "exact" else 1)
        statistic = over_noise(level - smooth, scores, t) / math.sqrt(variance)
        expected.append(statistic if sided == "one" else abs(statistic))
    ours = statistics(f"ewma:weight=0.3,target={target},sided={sided},limits={limits}", scores)
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)


@targets
@given(scores=SCORES)
def test_shiryaev_roberts_on_levels(target, scores):
    r, expected = 0.0, []
    for t, score in enumerate(scores):
        level = reference(target, scores, t)
        if level is None:
            expected.append(UNKNOWN)
            continue
        r = (1 + r) * math.exp(2 * over_noise(level - score, scores, t) - 2)
        expected.append(math.log1p(r))
    ours = statistics(f"shiryaev-roberts:on=levels,theta=2,target={target}", scores)
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)


@given(scores=SCORES)
def test_shiryaev_roberts_on_differences(scores):
    r, expected = 0.0, [UNKNOWN]
    for t in range(1, len(scores)):
        r = (1 + r) * math.exp(-0.5 * over_noise(scores[t] - scores[t - 1], scores, t))
        expected.append(math.log1p(r))
    ours = statistics("shiryaev-roberts:theta=0.5", scores)
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)


@given(scores=SCORES)
def test_bocpd_standardises_by_all_evals_up_to_this_one(scores):
    standard = [
        over_noise(score - np.mean(scores[: t + 1]), scores, t) for t, score in enumerate(scores)
    ]
    ours, expected = statistics("bocpd", scores), statistics("bocpd:mean=0,sigma=1", standard)
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("spec", ["cusum", "ewma", "shiryaev-roberts", "bocpd"])
@given(scores=SCORES, scale=st.floats(0.01, 100), shift=st.floats(-50, 50))
def test_the_scale_of_the_metric_does_not_matter(spec, scores, scale, shift):
    moved = np.array(scores) * scale + shift
    np.testing.assert_allclose(
        statistics(spec, moved), statistics(spec, scores), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(
    "spec", ["cusum", "cusum:sigma=1,sided=two", "ewma:sigma=1", "shiryaev-roberts", "bocpd"]
)
def test_a_rise_may_raise_these(spec):
    assert not is_monotone(DETECTORS.build(spec))


def test_a_huge_likelihood_ratio_stays_finite():
    ours = statistics("shiryaev-roberts:on=levels,target=given,sigma=0.001", [0.0, -1e5, 1e5, -1e5])
    assert np.isfinite(ours).all()
    assert ours[1] == pytest.approx(1e8, rel=1e-6)


@pytest.mark.parametrize(
    ("key", "delta", "min_evals", "threshold"),
    [("PageHinkley_default", 0.005, 1, 50), ("PageHinkley(10,0.01,5,1.0,'up')", 0.01, 10, 5)],
)
def test_page_hinkley_alarms_where_river_does(key, delta, min_evals, threshold):
    golden = json.loads(RIVER.read_text())["data"]
    ours = statistics(f"page-hinkley:delta={delta},min_evals={min_evals}", np.negative(golden["x"]))
    first = golden[key]["alarms"][0]
    assert first_alarm(ours[None], threshold) == first
    if "1.0" in key:  # without forgetting the whole statistic is the same, up to river's reset
        rows = np.array([*range(60), *range(990, 1020)])
        seen = (rows >= min_evals - 1) & (rows <= first)
        theirs = np.array(golden[key]["stat"])[seen, 0]
        np.testing.assert_allclose(ours[rows[seen]], theirs, rtol=0, atol=1e-12)


@given(
    scores=st.lists(st.floats(-10, 10), min_size=1, max_size=60),
    delta=st.floats(0, 1),
    min_evals=st.integers(1, 20),
    threshold=st.floats(0.1, 20),
)
def test_page_hinkley_is_that_of_river(scores, delta, min_evals, threshold):
    drift = pytest.importorskip("river.drift", reason="river is in the extra 'peers'")
    peer = drift.PageHinkley(min_evals, delta, threshold, alpha=1.0, mode="down")
    ours = statistics(f"page-hinkley:delta={delta},min_evals={min_evals}", scores)
    for score, statistic in zip(scores, ours, strict=True):
        peer.update(score)
        if abs(statistic - threshold) > 1e-9:
            assert peer.drift_detected == (statistic >= threshold)
        if statistic >= threshold - 1e-9:
            break
