"""Run lengths against an independent program, published tables, a Markov chain and simulation."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from evalstop.detectors import DETECTORS, Runs, first_alarm, nystroem, scan
from evalstop.detectors.charts import CusumChart, EwmaChart, ShiryaevRobertsChart
from evalstop.detectors.run_length import (
    arl,
    conditional_expected_delay,
    run_length_pmf,
    steady_state_arl,
    survival,
    survival_curve,
    threshold_for_arl,
    threshold_for_false_alarm,
)
from evalstop.errors import UserError

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
SPC = json.loads((GOLDEN / "arl_spc.json").read_text())["data"]
ANCHORS = json.loads((GOLDEN / "published_anchors.json").read_text())["data"]

CHARTS = {
    "cusum": (CusumChart(0.5), 4.0),
    "cusum, head start": (CusumChart(0.25, head_start=3.0), 6.0),
    "two-sided cusum": (CusumChart(0.5, "two"), 4.0),
    "two-sided cusum, head start": (CusumChart(0.5, "two", head_start=2.0), 4.0),
    "ewma": (EwmaChart(0.2), 2.5),
    "two-sided ewma": (EwmaChart(0.1, "two"), 2.5),
    "ewma, exact limits": (EwmaChart(0.2, limits="exact"), 2.5),
    "two-sided ewma, exact limits": (EwmaChart(0.1, "two", "exact"), 2.5),
    "shewhart": (EwmaChart(1.0, limits="exact"), 2.5),
    "shiryaev-roberts": (ShiryaevRobertsChart(1.0), 4.0),
    "shiryaev-roberts, k": (ShiryaevRobertsChart(0.5, k=0.5), 3.0),
}
every_chart = pytest.mark.parametrize(("chart", "threshold"), CHARTS.values(), ids=CHARTS)


def computed(row):  # noqa: PLR0911 - one for each kind
    """What a row of the independent program's output asks for."""
    kind, sided, k, h = row["kind"], row["sided"], row["k_or_lambda"], row["h_or_L"]
    mean, n = row["mu"], int(row["n"] or 0)
    match kind.split("_"):
        case ["cusum", "arl"]:
            return arl(CusumChart(k, sided), h, mean)
        case ["cusum", "arl", "fir", _]:
            return arl(CusumChart(k, sided, head_start=h / 2), h, mean)
        case ["cusum", "sf"]:
            return survival(CusumChart(k, sided), h, n, mean)
        case ["cusum", "crit"]:
            return threshold_for_arl(CusumChart(k, sided), h)
        case ["ewma", "arl", limits]:
            limits = {"fix": "fixed", "vacl": "exact"}[limits]
            return arl(EwmaChart(k, sided, limits), h, mean)
        case ["ewma", "sf", "fix"]:
            return survival(EwmaChart(k, sided), h, n, mean)
        case ["ewma", "crit", "arl500"]:
            return threshold_for_arl(EwmaChart(k, sided), 500)
        case ["sr", "crit", "A", _]:  # that program has R = (1 + R) exp(x - k) whatever k is
            return math.expm1(threshold_for_arl(ShiryaevRobertsChart(1.0, k), h))
        case ["sr", "arl", _]:
            return arl(ShiryaevRobertsChart(1.0, k), math.log1p(h), mean)
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in SPC}))
def test_agrees_with_an_independent_program(kind):
    rows = [row for row in SPC if row["kind"] == kind]
    ours = [computed(row) for row in rows]
    np.testing.assert_allclose(ours, [row["value"] for row in rows], rtol=1e-7)


@pytest.mark.parametrize("key", ["cusum_one_sided", "cusum_two_sided", "ewma"])
def test_agrees_with_textbook_tables(key):
    for k, h, mean, published in ANCHORS[key]:
        chart = EwmaChart(k, "two") if key == "ewma" else CusumChart(k, key.split("_")[1])
        assert arl(chart, h, mean) == pytest.approx(published, rel=0.006)


@pytest.mark.parametrize("theta", [1.0, 0.5])
def test_shiryaev_roberts_agrees_with_exact_quadrature(theta):
    for a, mean, exact in ANCHORS[f"sr_theta{theta:g}".replace("0.5", ".5")]:
        chart = ShiryaevRobertsChart(theta)
        assert arl(chart, math.log1p(a), mean) == pytest.approx(exact, rel=1e-9)


def by_markov_chain(step, low, high, n, *, held):
    """ARL from zero on n cells (Brook & Evans); the error is of the order of a width squared."""
    edges = np.linspace(low, high, n + 1)
    middles = np.append((edges[1:] + edges[:-1]) / 2, 0.0)
    cdf = norm.cdf(step(middles[:, None], edges))
    if held:
        cdf[:, 0] = 0
    q = np.diff(cdf, axis=1)
    times = np.linalg.solve(np.eye(n) - q[:-1], np.ones(n))
    return 1 + q[-1] @ times


@settings(max_examples=15)
@given(k=st.floats(0, 1), h=st.floats(0.5, 6), mean=st.floats(-0.5, 1.5))
def test_cusum_agrees_with_a_markov_chain(k, h, mean):
    # Half a cell at the lower end, so that its middle is zero, the atom.
    def extrapolated(n):
        width = 2 * h / (2 * n - 1)
        return by_markov_chain(lambda u, v: v - u + k - mean, -width / 2, h, n, held=True)

    coarse, fine, finer = (extrapolated(n) for n in (60, 120, 240))
    limit = (4 * finer - fine) / 3
    spread = abs(limit - (4 * fine - coarse) / 3)
    assert arl(CusumChart(k), h, mean) == pytest.approx(limit, abs=2 * spread + 1e-6 * limit)


@settings(max_examples=15)
@given(weight=st.floats(0.05, 1), limit=st.floats(1, 3.5), mean=st.floats(-1, 1))
def test_ewma_agrees_with_a_markov_chain(weight, limit, mean):
    end = limit * math.sqrt(weight / (2 - weight))

    def chain(n):
        return by_markov_chain(
            lambda u, v: (v - (1 - weight) * u) / weight - mean, -end, end, n, held=False
        )

    coarse, fine, finer = (chain(n) for n in (61, 121, 241))
    theirs = finer + (finer - fine) / ((241 / 121) ** 2 - 1)
    spread = abs(theirs - fine - (fine - coarse) / ((121 / 61) ** 2 - 1))
    ours = arl(EwmaChart(weight, "two"), limit, mean)
    assert ours == pytest.approx(theirs, abs=2 * spread + 1e-6 * theirs)


any_chart = st.one_of(
    st.builds(CusumChart, k=st.floats(0.05, 2), sided=st.sampled_from(["one", "two"])),
    st.builds(
        EwmaChart,
        weight=st.floats(0.05, 1),
        sided=st.sampled_from(["one", "two"]),
        limits=st.sampled_from(["fixed", "exact"]),
    ),
    st.builds(ShiryaevRobertsChart, shift=st.floats(0.1, 3)),
)


@settings(max_examples=40)
@given(chart=any_chart, threshold=st.floats(0.05, 9), mean=st.floats(-2, 3))
def test_more_nodes_change_nothing(chart, threshold, mean):
    few = arl(chart, threshold, mean), survival(chart, threshold, 10, mean)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nystroem, "NODES", 5)
        many = arl(chart, threshold, mean), survival(chart, threshold, 10, mean)
    np.testing.assert_allclose(few, many, rtol=1e-8, atol=1e-14)


def test_long_run_lengths_keep_their_digits():
    # The relation of the two-sided CUSUM, and Siegmund's slope of the log ARL, at 1e12 and beyond.
    one, two = arl(CusumChart(0.5), 30.0), arl(CusumChart(0.5, "two"), 30.0)
    assert two == pytest.approx(one / 2, rel=1e-12)
    assert arl(CusumChart(0.5), 31.0) / one == pytest.approx(math.e, rel=1e-6)
    # Shewhart's chart has a geometric run length.
    assert arl(EwmaChart(1.0), 8.0) == pytest.approx(1 / norm.sf(8.0), rel=1e-9)


def test_what_cannot_be_told_from_never_is_infinite():
    assert arl(CusumChart(1.0), 20.0, -20.0) == math.inf
    assert steady_state_arl(EwmaChart(0.02), 8.0, -5.0) == math.inf
    assert arl(CusumChart(1.0, "two"), 5.0, 40.0) == 1.0
    assert survival(CusumChart(0.5, "two"), 4.0, 200, 3.0) == 0


@every_chart
@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_law_mean_and_survival_belong_together(chart, threshold, mean):
    n = 400
    pmf, alive = (f(chart, threshold, n, mean) for f in (run_length_pmf, survival_curve))
    np.testing.assert_allclose(1 - np.cumsum(pmf), alive[1:], rtol=0, atol=1e-12)
    assert np.all(pmf >= -1e-15)
    assert alive[0] == 1
    # From the last survivors on the run length is geometric.
    tail = alive[-1] / (1 - alive[-1] / alive[-2]) if alive[-1] > 1e-9 else 0.0
    assert alive[:-1].sum() + tail == pytest.approx(arl(chart, threshold, mean), rel=1e-6)


@every_chart
def test_thresholds_invert_their_promises(chart, threshold):
    assert threshold_for_arl(chart, arl(chart, threshold)) == pytest.approx(threshold, rel=1e-9)
    alpha = 1 - survival(chart, threshold, 15)
    assert threshold_for_false_alarm(chart, alpha, 15) == pytest.approx(threshold, rel=1e-9)


@every_chart
def test_delays_tend_to_the_steady_state(chart, threshold):
    late = conditional_expected_delay(chart, threshold, 150, mean=1.0)
    assert steady_state_arl(chart, threshold, mean=1.0) == pytest.approx(late, rel=1e-6)
    first = conditional_expected_delay(chart, threshold, 0, mean=1.0)
    assert first == arl(chart, threshold, 1.0)


MEMBERS = {
    "cusum:k=0.5": 3.0,
    "cusum:k=0.25,sided=two": 4.0,
    "ewma:weight=0.2": 2.0,
    "ewma:weight=0.1,sided=two": 2.0,
    "ewma:weight=0.3,limits=exact": 2.2,
    "ewma:weight=0.1,sided=two,limits=exact": 2.4,
    "shiryaev-roberts:on=levels,theta=1": 3.5,
    "shiryaev-roberts:on=levels,theta=0.5": 3.0,
}


def simulated(spec, threshold, means, n_runs=20_000, seed=4):
    """Run lengths of a member on normal scores of sigma 0.2 about 3, shifted down by `means`."""
    rule = DETECTORS.build(spec, more={"target": "given", "mean": "3", "sigma": "0.2"})
    noise = np.random.default_rng(seed).standard_normal((n_runs, len(means)))
    alarms = first_alarm(scan(rule, Runs(3 - 0.2 * (noise + means))), threshold)
    return rule.chart(), np.where(alarms < 0, len(means), alarms) + 1


@pytest.mark.parametrize(("spec", "threshold"), MEMBERS.items())
def test_members_live_as_long_as_the_theory_says(spec, threshold):
    n = 60
    chart, lengths = simulated(spec, threshold, np.zeros(n))
    for t in (1, 3, 10, 30, 60):
        expected = survival(chart, threshold, t)
        error = math.sqrt(expected * (1 - expected) / len(lengths)) + 1e-9
        assert abs((lengths > t).mean() - expected) < 4 * error
    chart, lengths = simulated(spec, threshold, np.full(200, 1.0))
    error = lengths.std() / math.sqrt(len(lengths))
    assert abs(lengths.mean() - arl(chart, threshold, 1.0)) < 4 * error


@pytest.mark.parametrize(("spec", "threshold"), MEMBERS.items())
@pytest.mark.parametrize("change", [2, 25])
def test_members_answer_a_late_shift_as_the_theory_says(spec, threshold, change):
    means = np.where(np.arange(200) < change, 0.0, 1.0)
    chart, lengths = simulated(spec, threshold, means)
    delays = lengths[lengths > change] - change
    error = delays.std() / math.sqrt(len(delays))
    expected = conditional_expected_delay(chart, threshold, change, 1.0)
    assert abs(delays.mean() - expected) < 4 * error


def test_two_sided_cusum_with_a_head_start_against_simulation():
    chart, h, n, change = CusumChart(0.25, "two", head_start=2.0), 4.0, 300, 5
    x = np.random.default_rng(5).standard_normal((40_000, n))
    x[:, change:] -= 0.7
    up = down = np.full(len(x), 2.0)
    lengths = np.full(len(x), n)
    for t in range(n):
        up, down = np.maximum(0, up + x[:, t] - 0.25), np.maximum(0, down - x[:, t] - 0.25)
        lengths[(np.maximum(up, down) >= h) & (lengths == n)] = t + 1
    alive = lengths > change
    expected = survival(chart, h, change)
    assert abs(alive.mean() - expected) < 4 * math.sqrt(expected * (1 - expected) / len(x))
    delays = lengths[alive] - change
    expected = conditional_expected_delay(chart, h, change, -0.7)
    assert abs(delays.mean() - expected) < 4 * delays.std() / math.sqrt(len(delays))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: arl(CusumChart(), 0.0), "threshold"),
        (lambda: arl(CusumChart(), math.nan), "threshold"),
        (lambda: arl(CusumChart(head_start=5.0), 4.0), "threshold"),
        (lambda: arl(CusumChart(), 1e5), "quadrature nodes"),
        (lambda: survival(CusumChart(), 4.0, -1), "observations"),
        (lambda: threshold_for_arl(CusumChart(), 1.0), "more than one"),
        (lambda: threshold_for_arl(CusumChart(), 1.2), "smallest"),
        (lambda: threshold_for_false_alarm(CusumChart(), 0.0, 5), "alpha"),
        (lambda: threshold_for_false_alarm(CusumChart(), 0.1, 0), "horizon"),
        (lambda: steady_state_arl(CusumChart(0.0, "two"), 4.0, 1.0), "steady"),
        (lambda: conditional_expected_delay(CusumChart(), 1.0, 900, 1.0, 4.0), "no delay"),
        (lambda: conditional_expected_delay(CusumChart(0.5, "two"), 1.0, 90, 1.0), "no delay"),
        (lambda: CusumChart(sided="both"), "sided"),
        (lambda: EwmaChart(weight=0.0), "weight"),
    ],
)
def test_refuses_what_it_cannot_do(call, sentence):
    with pytest.raises(UserError, match=sentence):
        call()


@pytest.mark.parametrize(
    "spec",
    [
        "cusum",
        "cusum:target=given",
        "cusum:target=running-mean,sigma=1",
        "ewma:sigma=1",
        "shiryaev-roberts:target=given,sigma=1",
    ],
)
def test_members_that_estimate_have_no_exact_chart(spec):
    with pytest.raises(UserError, match="exact"):
        DETECTORS.build(spec).chart()
