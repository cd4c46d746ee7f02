"""Tuning: what is searched, on which runs, what is chosen, and what is shown of it."""

import json
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution

from evalstop.benchmarks.labelled import label_curves, labels_in_column
from evalstop.benchmarks.scores import score_outcomes
from evalstop.cli import main
from evalstop.detectors.logs import read_logs
from evalstop.detectors.logs.eval_runs import eval_runs
from evalstop.detectors.settings import spec_of
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.errors import UserError
from evalstop.studies.detection import Judged
from evalstop.studies.store import Store
from evalstop.studies.thresholds import Matched, Natural
from evalstop.studies.tuning.figures import importance
from evalstop.studies.tuning.goal import Goal, read_goal
from evalstop.studies.tuning.measure import Bench, made, resampled
from evalstop.studies.tuning.places import (
    DEFAULT_WORLDS,
    HELD_OUT,
    PARTS,
    TRAIN,
    VALIDATION,
    blocks,
    curve_place,
    world_places,
)
from evalstop.studies.tuning.space import Axis, read_space
from evalstop.studies.tuning.trials import Told
from evalstop.studies.tuning.tune import RATE, Tuned, Tuning, choose, tune
from evalstop.studies.tuning.where import counting_axis

SCORES = {
    "saved": 0.4,
    "recall": 0.9,
    "fpr_healthy": 0.01,
    "fpr_worst": 0.02,
    "delay_mean": 2.0,
    "horizon": 20.0,
}


# -- what is searched


def test_the_search_space_is_what_the_fields_declare():
    assert read_space("k-decline").axes == (Axis("k", 1, 8, integer=True),)
    assert read_space("gao-fit").axes == (
        Axis("prior_df", 0.5, 8),
        Axis("trend_sd", 3, 300, log=True),
    )
    assert read_space("drawdown").axes == ()


def test_a_named_field_is_fixed_or_has_a_range_of_its_own():
    space = read_space("gao-fit:prior_df=3")
    assert [axis.name for axis in space.axes] == ["trend_sd"]
    assert spec_of(space.detector({"trend_sd": 5.0})) == "gao-fit:prior_df=3.0,trend_sd=5.0"
    space = read_space("cusum:target=running-mean|best-so-far,k=0.1..0.9,sigma=0.05")
    assert {axis.name: axis.ends for axis in space.axes} == {
        "target": ("running-mean", "best-so-far"),
        "k": (0.1, 0.9),
    }
    measured = space.detector({"target": "running-mean", "k": 0.123456})
    assert spec_of(measured) == "cusum:target=running-mean,sigma=0.05,k=0.1235"
    assert space.told() == ["target=running-mean|best-so-far", "k=0.1..0.9"]
    assert read_space("k-decline:k=2..4").points() == [{"k": 2}, {"k": 3}, {"k": 4}]
    assert read_space("k-decline:k=2|5,form=integer|tolerance").points() == [
        {"k": 2, "form": "integer"},
        {"k": 2, "form": "tolerance"},
        {"k": 5, "form": "integer"},
        {"k": 5, "form": "tolerance"},
    ]
    assert read_space("ewma-drawdown").points() is None


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("k-declin", "did you mean 'k-decline'"),
        ("k-decline:m=2", "there is no setting 'm'"),
        ("k-decline:k=0..4", "k must be at least 1"),
        ("k-decline:k=4..2", r"needs a range low\.\.high"),
        ("k-decline:k=2..x", "k must be of type int"),
        ("k-decline:form=integer|odd", "form must be one of"),
        ("cusum:target=running-mean..best-so-far", "needs a range"),
    ],
)
def test_a_wrong_range_is_one_line(spec, told):
    with pytest.raises(UserError, match=told):
        read_space(spec)


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("field(default=0.5, metadata={'tune': (1, 0)})", "two numbers, the lower first, got"),
        ("field(default=0.5, metadata={'tune': 7})", "two numbers, the lower first, got 7"),
        ("field(default='a', metadata={'tune': ('a', 'b')})", "two numbers"),
        ("setting(0.5, tune=(0, 1), log=True)", "both above 0"),
        ("field()", "the detector cannot be made .TypeError"),
    ],
)
def test_a_wrong_range_in_a_rule_of_ones_own_is_one_line(tmp_path, declared, told):
    rule = tmp_path / "mine.py"
    rule.write_text(
        "from dataclasses import dataclass, field\n"
        "from evalstop.detectors.settings import setting\n"
        f"@dataclass(frozen=True)\nclass Mine:\n    lag: float = {declared}\n"
    )
    with pytest.raises(UserError, match=told):
        read_space(f"{rule}:Mine")


def test_a_rule_whose_own_threshold_moves_keeps_it():
    assert read_space("k-decline").sets_threshold
    assert read_space("patience").sets_threshold
    assert read_space("fixed-progress").sets_threshold
    assert not read_space("k-decline:form=tolerance").sets_threshold
    assert not read_space("ewma-drawdown").sets_threshold
    assert not read_space("e-process").sets_threshold
    assert counting_axis(read_space("patience")) == Axis("evals", 1, 20, integer=True)
    assert counting_axis(read_space("fixed-progress")) is None
    assert counting_axis(read_space("ewma-drawdown")) is None


def test_objectives():
    assert read_goal("saved@fpr=.05") == Goal(("saved",), 0.05)
    assert read_goal("recall") == Goal(("recall",))
    assert read_goal("multi").names == ("saved", "fpr", "delay")
    assert read_goal("recall, delay").told() == "recall,delay"
    for wrong in (
        "save",
        "saved@fpr=2",
        "saved@delay=2",
        "fpr",
        "fpr,delay",
        "saved,saved",
        "multi@",
    ):
        with pytest.raises(UserError, match="objective"):
            read_goal(wrong) if wrong != "multi@" else read_goal("saved,fpr@fpr=.1")


def test_what_a_trial_is_worth():
    goal = Goal(("saved",), 0.015)
    assert goal.values(SCORES, own_threshold=False) == [0.4]
    assert goal.values(SCORES, own_threshold=True) == [0.015 - 0.02]
    assert goal.values({**SCORES, "fpr_worst": 0.015}, own_threshold=True) == [0.4]
    multi = read_goal("multi")
    assert multi.values(SCORES, own_threshold=True) == [0.4, 0.01, 2.0]
    never = {**SCORES, "saved": math.nan, "delay_mean": math.nan}
    assert multi.values(never, own_threshold=True) == [0.0, 0.01, 20.0]


# -- on which runs


@given(st.integers(1, 12))
def test_worlds_are_parted_in_the_order_given(n):
    places = world_places([f"paper:sigma=0.0{i + 1:02}" for i in range(n)], 100)
    firsts = [place.first for place in places]
    assert firsts == sorted(firsts, key=PARTS.index)
    for part in (VALIDATION, HELD_OUT):
        assert firsts.count(part) == n // 3
    assert firsts.count(TRAIN) >= max(1, n / 3)


def test_runs_of_different_parts_are_different_runs():
    (place,) = world_places(["paper"], 50)
    rule = Judged(KDecline(), Natural())
    drawn = [made(place.cell(part, rule, 0)).population.runs.score for part in PARTS]
    assert [len(scores) for scores in drawn] == [50, 50, 100]
    assert len(np.unique(np.concatenate(drawn).round(12), axis=0)) == 200


def test_worlds_need_both_kinds_of_runs():
    with pytest.raises(UserError, match="hacking must be more than 0 and less than 1"):
        world_places(["paper:hacking=1"], 100)


def write_curves(path, n_runs=60):
    """Write runs with two metrics each; every third run declines."""
    rng = np.random.default_rng(0)
    rows = []
    for run in range(n_runs):
        declines = run % 3 == 0
        for metric in ("a", "b"):
            x = np.linspace(0, 1, 12)
            shape = np.where(x < 0.5, x, 1 - x) if declines else x
            for step, value in enumerate(shape + 0.02 * rng.standard_normal(12), 1):
                label = "declined" if declines else "healthy"
                rows.append((f"run{run}", metric, step, value, 1, label))
    columns = ["run", "metric", "step", "value", "higher_is_better", "label"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


def labelled(path):
    evals = eval_runs(read_logs([path]))
    return label_curves(evals, labels_in_column(evals, "label"))


def test_curves_of_one_training_run_stay_together(tmp_path):
    curves = labelled(write_curves(tmp_path / "curves.csv"))
    place = curve_place(curves, seed=0)
    rows = [set(workload.rows) for workload in place.workloads]
    assert sorted(set.union(*rows)) == list(range(120))
    assert sum(map(len, rows)) == 120
    groups = [{int(curves.groups[row]) for row in part} for part in rows]
    assert sum(map(len, groups)) == 60
    assert [len(part) for part in groups] == [30, 15, 15]
    hacking = [sum(curves.population.hacking[row] for row in part) for part in rows]
    assert hacking == [20, 10, 10]
    assert place.workloads != curve_place(curves, seed=1).workloads


def test_thresholds_of_curves_come_from_the_train_part(tmp_path):
    place = curve_place(labelled(write_curves(tmp_path / "curves.csv")), seed=0)
    rule = Judged(read_space("drawdown").base, Matched(fpr=0.05))
    at = [rule.threshold.value(rule.detector, made(place.cell(part, rule, 0))) for part in PARTS]
    assert len(set(at)) == 1
    drawn = made(place.cell(TRAIN, rule, 0))
    negative = ~drawn.scored.hacking
    largest = drawn.statistics(rule.detector).max(axis=1)[negative]
    assert (largest >= at[0]).mean() <= 0.05
    assert set(blocks(place, HELD_OUT, made(place.cell(HELD_OUT, rule, 0)))) == set(range(15))


def test_too_few_curves_are_one_line(tmp_path):
    with pytest.raises(UserError, match="at least 4 training runs of each kind"):
        curve_place(labelled(write_curves(tmp_path / "few.csv", n_runs=5)), seed=0)


def test_other_values_are_other_curves(tmp_path):
    one, other = (labelled(write_curves(tmp_path / name, n)) for name, n in (("a", 60), ("b", 63)))
    texts = {str(curve_place(curves, 0).workloads[0].curves) for curves in (one, one, other)}
    assert len(texts) == 2


# -- what is shown


def test_intervals_are_of_the_scores_and_cover_them(tmp_path):
    bench = Bench(world_places(["paper", "paper:n=20"], 1000), 0, Store(tmp_path), 1)
    rules = [Judged(KDecline(k=3), Natural()), Judged(KDecline(), Natural())]
    (told, default) = bench.scores([TRAIN], rules)[TRAIN]
    shown = resampled(bench, TRAIN, rules)
    for name in ("saved", "recall", "fpr_healthy", "delay_mean", "precision"):
        found = shown.interval(name, 0)
        assert found.value == pytest.approx(told[name])
        assert found.low <= found.value <= found.high
        assert found.high - found.low < 1
    assert shown.gain("saved").value == pytest.approx(told["saved"] - default["saved"])
    place = bench.places[0]
    drawn = made(place.cell(TRAIN, rules[0], 0))
    alone = score_outcomes(drawn.scored, rules[0].outcomes(drawn, 3)).saved
    assert shown.interval("saved", 0, ["paper"]).value == pytest.approx(alone)
    assert told["fpr_worst"] >= told["fpr_healthy"]
    assert told["horizon"] == 20


def test_no_false_alarm_is_not_certainty(tmp_path):
    bench = Bench(world_places(["paper:sigma=0"], 500), 0, Store(tmp_path), 1)
    found = resampled(bench, TRAIN, [Judged(KDecline(), Natural())]).interval("fpr_healthy", 0)
    assert found.value == found.low == 0
    assert 0.01 < found.high < 0.03


def trial(number, **validation):
    scores = {**SCORES, "fpr_worst": 0.0, **validation}
    return Told(number, {}, [1.0 - number], {VALIDATION: scores}, {})


def test_the_winner_is_chosen_by_what_the_search_never_saw():
    tuning = Tuning(read_space("ewma-drawdown"), Goal(), tuple(world_places(["paper"], 100)))
    trials = [trial(0, saved=0.1), trial(1, saved=0.3), trial(2, saved=0.3), trial(3, saved=0.2)]
    assert [t.number for t in choose(tuning, trials)] == [1]


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=30))
def test_no_trial_beats_one_of_the_front(scores):
    tuning = Tuning(
        read_space("ewma-drawdown"), read_goal("multi"), tuple(world_places(["paper"], 100))
    )
    names = ("saved", "fpr_healthy", "delay_mean")
    trials = [
        trial(i, **dict(zip(names, map(float, s), strict=True))) for i, s in enumerate(scores)
    ]
    chosen = choose(tuning, trials)
    assert 1 <= len(chosen) <= 10
    for one in chosen:
        s, f, d = scores[one.number]
        assert not any(
            (a, b, c) != (s, f, d) and a >= s and b <= f and c <= d for a, b, c in scores
        )
    assert len({scores[one.number] for one in chosen}) == len(chosen)


def test_a_search_finds_a_planted_optimum_and_shows_it_on_other_runs(tmp_path):
    """On runs that fall at once and stay there a window of one eval is best, a long one worst."""
    places = tuple(world_places(["cliff:n=20,sigma=0.02"], 300))
    tuning = Tuning(read_space("ewma-drawdown"), Goal(), places, trials=24)
    found = tune(tuning, tmp_path)
    assert found.best.params["weight"] > 0.5
    worst = min(found.trials, key=lambda t: t.values[0])
    assert worst.params["weight"] < 0.3
    shown = found.shown[HELD_OUT]
    assert shown.interval("saved", 0).value > worst.values[0]
    assert found.trials == tune(tuning, tmp_path / "again", jobs=2).trials


def test_names_of_searches_tell_what_their_trials_depend_on():
    places = tuple(world_places(["paper"], 100))
    base = Tuning(read_space("ewma-drawdown"), Goal(), places)
    others = [
        Tuning(read_space("ewma-drawdown:weight=0.1..0.9"), Goal(), places),
        Tuning(read_space("ewma-drawdown"), Goal(fpr=0.05), places),
        Tuning(read_space("ewma-drawdown"), Goal(), tuple(world_places(["paper"], 200))),
        Tuning(read_space("ewma-drawdown"), Goal(), tuple(world_places(["cliff"], 100))),
        Tuning(read_space("ewma-drawdown"), Goal(), places, sampler="random"),
        Tuning(read_space("ewma-drawdown"), Goal(), places, seed=1),
    ]
    assert len({t.search.name for t in (base, *others)}) == 7
    assert Tuning(base.space, base.goal, places, trials=7).search.name == base.search.name


def test_how_eager_a_rule_is_is_searched_where_scores_stand_against_each_other():
    places = tuple(world_places(["paper"], 100))
    tuning = Tuning(read_space("drawdown"), read_goal("multi"), places)
    assert [axis.name for axis in tuning.axes] == [RATE]
    assert tuning.threshold({RATE: 0.1}) == Matched(fpr=0.1)
    assert [a.name for a in Tuning(read_space("k-decline"), read_goal("multi"), places).axes] == [
        "k"
    ]
    with pytest.raises(UserError, match="no field is left to search"):
        Tuning(read_space("drawdown"), Goal(), places)


def test_few_runs_are_searched_and_shown_at_rates_that_they_can_tell():
    few, too_few = (tuple(world_places(["paper"], runs)) for runs in (20, 2))
    tuning = Tuning(read_space("drawdown"), read_goal("multi"), few)
    assert [axis.low for axis in tuning.axes] == [0.05]
    assert tuning.threshold({}) == Matched(fpr=0.05)  # the default settings; 1.5 % takes 66 runs
    with pytest.raises(UserError, match="2 runs that should go on cannot tell them"):
        Tuning(read_space("drawdown"), read_goal("multi"), too_few)


def test_where_all_trials_score_the_same_no_field_explains_anything():
    axes = read_space("gao-fit").axes
    ranges = {axis.name: FloatDistribution(axis.low, axis.high, log=axis.log) for axis in axes}
    trials = [
        Told(i, {axis.name: axis.low + i for axis in axes}, [0.0], {}, ranges) for i in range(5)
    ]
    tuning = Tuning(read_space("gao-fit"), Goal(), tuple(world_places(["paper"], 100)))
    assert set(importance(Tuned(tuning, trials, [], {}), 0).values()) == {0.0}


# -- the command


def run(capsys, *arguments):
    status = main(["tune", "--no-track", *map(str, arguments)])
    return status, capsys.readouterr()


@pytest.fixture(scope="module")
def smoked(tmp_path_factory):
    """Give the folder of the paper's question, asked in small."""
    out = tmp_path_factory.mktemp("smoke")
    assert (
        main(["tune", "--detector", "k-decline", "--smoke", "--no-track", "--out", str(out)]) == 0
    )
    return out


def test_the_question_of_the_paper_is_answered(smoked):
    findings = (smoked / "findings.txt").read_text()
    assert "8 evals: k=2 at sigma 0.03" in findings
    assert "no k is good at" in findings
    frame = pd.read_parquet(smoked / "where/results.parquet")
    assert {"precision", "recall", "saved", "jct_gain"} <= set(frame.columns)
    assert set(frame["n"]) == {8, 20}
    assert set(frame["sigma"]) == {0.03, 0.12}
    page = (smoked / "report.html").read_text()
    for svg in smoked.glob("*.svg"):
        ET.parse(svg)
    assert page.count("<svg") == len(list(smoked.glob("*.svg"))) == 4
    assert not re.search(r'(src|href)="(?!#)', page)


def test_the_answer_as_json(smoked, capsys):
    status, said = run(capsys, "--detector", "k-decline", "--smoke", "--out", smoked, "--json")
    assert status == 0
    at = {(place["n"], place["sigma"]): place for place in json.loads(said.out)["where"]}
    paper = at[8, 0.03]
    assert (paper["best"], paper["good"]) == (2, True)
    assert 0 < paper["k"]["jct_gain"]["low"] < paper["k"]["jct_gain"]["high"] < 0.2
    assert paper["k"]["saved"]["value"] < paper["ewma-drawdown:weight=0.7"]["saved"]["value"]
    assert not at[20, 0.12]["good"]


def test_every_trial_is_in_the_table(smoked):
    frame = pd.read_csv(smoked / "results.csv")
    assert list(frame["k"]) == list(range(1, 9))
    assert frame["chosen"].sum() == 1
    chosen = frame[frame["chosen"]].iloc[0]
    assert not np.isnan(chosen["held_out_saved"])
    assert frame.loc[~frame["chosen"], "held_out_saved"].isna().all()
    told = json.loads((smoked / "study.json").read_text())
    assert told["study"]["places"][HELD_OUT] == list(DEFAULT_WORLDS[-3:])
    assert told["seed"] == 0


def test_curves_as_json(tmp_path, capsys):
    curves = write_curves(tmp_path / "curves.csv")
    options = ("--curves", curves, "--labels", "label", "--objective", "saved@fpr=.05")
    status, said = run(
        capsys, "--detector", "ewma-drawdown", *options, "--trials", 8, "--out", tmp_path, "--json"
    )
    assert status == 0
    told = json.loads(said.out)
    (chosen,) = told["chosen"]
    assert told["places"] == {TRAIN: ["curves"], VALIDATION: [], HELD_OUT: []}
    for part in ("train", "validation", "held_out"):
        found = chosen[part]["saved"]
        assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1
    assert set(chosen["thresholds"]) == {"curves"}
    assert told["default"]["detector"] == "ewma-drawdown"


def test_several_objectives(tmp_path, capsys):
    status, said = run(
        capsys, "--detector", "cusum", "--objective", "multi", "--world", "paper", "--trials", 24,
        "--runs", 200, "--out", tmp_path, "--json",
    )  # fmt: skip
    assert status == 0
    told = json.loads(said.out)
    rates = [chosen["held_out"]["fpr_healthy"]["value"] for chosen in told["chosen"]]
    saves = [chosen["held_out"]["saved"]["value"] for chosen in told["chosen"]]
    assert len(rates) > 1
    assert max(saves) > min(saves)
    names = {file.stem for file in tmp_path.glob("*.svg")}
    assert names == {"front", "importances", "slices", "history"}
    assert "mathdefault" not in (tmp_path / "slices.svg").read_text()  # numbers, not their markup


def test_a_detector_of_ones_own(tmp_path, capsys):
    rule = tmp_path / "mine.py"
    rule.write_text(OWN)
    status, _ = run(
        capsys, "--detector", f"{rule}:Mine", "--world", "paper", "--trials", 9, "--runs", 200,
        "--jobs", 2, "--out", tmp_path / "out",
    )  # fmt: skip
    assert status == 0
    trials = pd.read_csv(tmp_path / "out/results.csv")
    assert len(trials) == 9
    assert set(trials["threshold"]) == {"matched"}
    assert trials["detector.threshold"].between(0, 1).all()  # the field of that name


OWN = """
from dataclasses import dataclass
from evalstop.detectors.settings import setting


@dataclass(frozen=True)
class Mine:
    lag: float = setting(0.5, low=0, high=1, tune=(0, 1))
    threshold: float = setting(0.5, low=0, high=1, tune=(0, 1))

    def statistic(self, prefix):
        return prefix.max(axis=1) - (1 - self.lag) * prefix[:, -1] - self.lag * prefix.mean(axis=1)
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["drawdown"], "no field is left to search"),
        (["k-decline", "--objective", "speed"], "no score 'speed'"),
        (["k-decline", "--sampler", "magic"], "no sampler 'magic'"),
        (["ewma-drawdown", "--sampler", "grid"], "a grid needs finitely many"),
        (["k-decline", "--trials", "0"], "trials: must be at least 1"),
        (["k-decline", "--seed", "-1"], "Invalid value for '--seed'"),
        (["k-decline", "--runs", "0"], "runs must be at least 1"),
        (["ewma-drawdown", "--world", "paper", "--runs", "20"], "needs 66 negative runs"),
        (["k-decline", "--world", "papper"], "did you mean 'paper'"),
        (["k-decline", "--curves", "x.csv"], "Give --labels"),
        (["k-decline", "--labels", "x"], "give --curves"),
        (["k-decline", "--curves", "x.csv", "--labels", "x", "--world", "paper"], "--world"),
        (["k-decline", "--storage", "nonsense://x", "--world", "paper"], "cannot be used"),
    ],
)
def test_errors_are_one_line(tmp_path, capsys, monkeypatch, arguments, told):
    monkeypatch.setattr("evalstop.studies.tuning.storage.TRIES", 1)
    status, said = run(capsys, "--detector", *arguments, "--out", tmp_path)
    assert status == 2
    (line,) = (line for line in said.err.splitlines() if line.startswith("error"))
    assert re.search(told, line), line
