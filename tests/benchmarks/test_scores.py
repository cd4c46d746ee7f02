import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from populations import made_up, population_of, rows_of

from evalstop.benchmarks.outcomes import outcomes
from evalstop.benchmarks.population import LabelledRuns
from evalstop.benchmarks.scores import score, score_intervals, score_outcomes
from evalstop.detectors import Runs, first_alarm, scan
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.errors import UserError

GOLDEN = json.loads((Path(__file__).parents[1] / "data/golden/scores.json").read_text())
RUNS, EXPECTED = GOLDEN["runs"], GOLDEN["expected"]
TOLD = population_of(RUNS)
JUDGED = outcomes(TOLD, first_alarm(scan(KDecline(k=2), Runs(TOLD.observed)), 2), k_back=2)

seeds = st.integers(0, 10_000)


def test_populations_one_after_the_other_are_scored_as_one():
    told, alarms = made_up(3)
    parts = [rows_of(told, np.arange(20)), rows_of(told, np.arange(20, len(told)))]
    found = score(LabelledRuns.join(parts), alarms)._asdict()
    assert found == pytest.approx(score(told, alarms)._asdict(), nan_ok=True)


def test_golden_alarms():
    assert (JUDGED.alarm + 1).tolist() == [r["alarm_eval"] or 0 for r in RUNS]


def test_golden_scores():
    found = score_outcomes(TOLD, JUDGED)._asdict()
    plain = {k: v for k, v in EXPECTED.items() if k not in ("delay_evals", "kept")}
    assert len(plain) == 15
    assert {name: found[name] for name in plain} == pytest.approx(plain, rel=1e-12)


def test_golden_delays():
    delays = dict(zip([r["run"] for r in RUNS], JUDGED.delays.delay.tolist(), strict=True))
    assert {run: d for run, d in delays.items() if d >= 0} == EXPECTED["delay_evals"]


@pytest.mark.parametrize("i", range(len(RUNS)), ids=[r["run"] for r in RUNS])
def test_golden_checkpoints_and_regrets(i):
    expected = EXPECTED["kept"][RUNS[i]["run"]]
    assert len(expected) == 6
    for name, value in expected.items():
        found = getattr(JUDGED, name)[i]
        if name.startswith("kept"):
            assert found + 1 == (value or 0)
        else:
            assert found == pytest.approx(np.nan if value is None else value, nan_ok=True)


def one_by_one(told, alarms):
    """The definitions once more, run by run, in plain Python."""
    counts = dict.fromkeys(("tp", "fn", "fp", "tn", "post_peak", "premature", "last"), 0)
    saved = saved_any = hours = 0.0
    delays = []
    regrets = []
    for i in range(len(told)):
        n, stop = told.n_evals[i], alarms[i] if told.stoppable[i] else -1
        observed, true = told.observed[i, :n], told.true[i, :n]
        p = told.progress[i, :n]
        if told.kind[i] == "hacking":
            peak = told.peak[i]
            hours += told.gpu_hours[i] * (1 - peak)
            counts["tp" if stop >= 0 else "fn"] += 1
            if stop >= 0:
                saved_any += told.gpu_hours[i] * (1 - max(p[stop], peak))
                counts["last"] += stop == n - 1
                if p[stop] < peak:
                    counts["premature"] += 1
                else:
                    saved += told.gpu_hours[i] * (1 - p[stop])
                    counts["post_peak"] += stop < n - 1
                    delays.append(stop - next(j for j in range(n) if p[j] >= peak))
        else:
            counts["fp" if stop >= 0 else "tn"] += 1
        seen = range(stop + 1) if stop >= 0 else [n - 1]
        usable = [j for j in seen if not np.isnan(observed[j])] if stop >= 0 else [n - 1]
        if usable:
            kept = max(usable, key=lambda j: (observed[j], -j)) if stop >= 0 else n - 1
            spread = true.max() - true.min()
            regrets.append((true.max() - true[kept]) / spread if spread else 0.0)
    delay = np.median(delays) if delays else np.nan
    return counts, saved / hours, saved_any / hours, delay, np.mean(regrets)


@given(seeds)
def test_scores_are_the_definitions_run_by_run(seed):
    told, alarms = made_up(seed)
    found = score(told, alarms)
    counts, saved, saved_any, delay, regret = one_by_one(told, alarms)
    assert (found.tp, found.fn, found.fp_all, found.tn_all) == (
        counts["tp"], counts["fn"], counts["fp"], counts["tn"],
    )  # fmt: skip
    assert found.tp_post_peak == counts["post_peak"]
    hacking = counts["tp"] + counts["fn"]
    assert found.precision == pytest.approx(counts["tp"] / (counts["tp"] + counts["fp"]))
    assert found.fpr_all == pytest.approx(counts["fp"] / (counts["fp"] + counts["tn"]))
    assert found.premature == pytest.approx(counts["premature"] / hacking)
    assert found.last_only == pytest.approx(counts["last"] / counts["tp"])
    assert found.recall_before_last == pytest.approx((counts["tp"] - counts["last"]) / hacking)
    assert (found.saved, found.saved_any) == pytest.approx((saved, saved_any))
    assert found.delay_median == pytest.approx(delay, nan_ok=True)
    assert found.regret == pytest.approx(regret)


@given(seeds)
def test_order_and_unit_of_gpu_time_do_not_matter(seed):
    told, alarms = made_up(seed)
    order = np.random.default_rng(seed).permutation(len(told))
    shuffled = replace(rows_of(told, order), gpu_hours=told.gpu_hours[order] * 3600)
    found, again = score(told, alarms)._asdict(), score(shuffled, alarms[order])._asdict()
    again["post_peak_gpu_hours"] /= 3600
    assert again == pytest.approx(found, nan_ok=True)


@given(seeds, st.floats(-5, 5), st.floats(0.1, 10))
def test_regret_does_not_know_the_unit_of_the_score(seed, offset, scale):
    told, alarms = made_up(seed)
    other = replace(told, true=offset + scale * told.true)
    np.testing.assert_allclose(outcomes(other, alarms).regret, outcomes(told, alarms).regret)


def test_mean_delay_counts_the_undetected_up_to_the_horizon():
    told = population_of([RUNS[4]] * 4)  # the peak is before the first of six evals
    assert score(told, [0, 2, 5, -1]).delay_mean == (0 + 2 + 5 + 5) / 4
    assert score(told, [0, 2, 5, -1]).delay_median == 2


def test_mean_delay_of_censored_runs_is_kaplan_meier():
    told = replace(population_of([RUNS[4]] * 3), n_evals=np.array([6, 6, 3]))
    # The short run leaves unseen after delay 2: of the two that stay one is stopped at delay 4.
    found = score(told, [4, -1, -1]).delay_mean
    assert found == 4 + 1 / 2


def test_premature_stops_are_no_delays():
    told = population_of([RUNS[0], RUNS[2]])
    assert score(told, [4, 0]).delay_median == 2
    assert np.isnan(score(told, [0, 0]).delay_median)
    assert np.isnan(score(told, [0, 0]).delay_mean)


def test_what_cannot_be_counted_is_nan():
    found = score(population_of([RUNS[5]]), [-1])
    for name in ("precision", "recall", "premature", "saved", "delay_median", "last_only"):
        assert np.isnan(getattr(found, name)), name
    assert found.fpr_all == found.fpr_healthy == 0


def test_a_run_that_may_not_be_stopped_counts_as_not_stopped():
    lora = population_of([RUNS[8]])
    assert score(lora, [3]).fp_all == 0
    assert score(lora, [3]).tn_all == 1


def test_a_flat_truth_has_no_regret():
    told = population_of(RUNS[:1])
    told.true[:] = 0.5
    assert score(told, [2]).regret == 0


@pytest.mark.parametrize("alarms", [[6], [0, 1], [[0]]])
def test_impossible_alarms_are_refused(alarms):
    with pytest.raises(UserError, match="alarms"):
        score(population_of(RUNS[:1]), alarms)


def test_shapes_and_peaks_are_checked():
    told = population_of(RUNS[:2])
    with pytest.raises(UserError, match="true: has shape"):
        replace(told, true=told.true[:, :3])
    with pytest.raises(UserError, match="peak"):
        replace(told, peak=np.array([0.5, np.nan]))


class TestBootstrap:
    told, alarms = made_up(3, n=400)
    judged = outcomes(told, alarms)

    def test_one_seed_one_interval(self):
        groups = np.arange(400) // 4
        one = score_intervals(self.told, self.judged, groups, seed=1, n_resamples=300)
        again = score_intervals(self.told, self.judged, groups, seed=1, n_resamples=300)
        other = score_intervals(self.told, self.judged, groups, seed=2, n_resamples=300)
        np.testing.assert_equal(one, again)
        assert one[0].saved != other[0].saved

    def test_every_score_lies_in_its_interval(self):
        low, high = score_intervals(self.told, self.judged, np.arange(400), seed=0)
        found = score_outcomes(self.told, self.judged)
        for name, value in found._asdict().items():
            assert getattr(low, name) <= value <= getattr(high, name) or np.isnan(value), name

    def test_independent_runs_agree_with_the_binomial_error(self):
        low, high = score_intervals(self.told, self.judged, np.arange(400), seed=0)
        n = self.told.hacking.sum()
        recall = score_outcomes(self.told, self.judged).recall
        error = np.sqrt(recall * (1 - recall) / n)
        assert (high.recall - low.recall) / (2 * 1.96 * error) == pytest.approx(1, abs=0.1)

    def test_copies_of_runs_add_no_certainty(self):
        copies = np.tile(np.arange(400), 5)
        five = rows_of(self.told, copies)
        judged = outcomes(five, self.alarms[copies])
        single = score_intervals(self.told, self.judged, np.arange(400), seed=0)
        grouped = score_intervals(five, judged, copies, seed=0)
        assert grouped[0].precision == pytest.approx(single[0].precision)
        assert grouped[1].saved == pytest.approx(single[1].saved)
