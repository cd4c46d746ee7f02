"""The leaderboard: thresholds, reference lines, rows of outsiders, cache, report, errors."""

import json
import re
from importlib.metadata import EntryPoint

import numpy as np
import pandas as pd
import pytest

from evalstop.benchmarks.rankings import R1, R2, R3, rank
from evalstop.cli import main
from evalstop.detectors import DETECTORS
from evalstop.detectors import catalogue as catalogue_module
from evalstop.errors import UserError
from evalstop.studies.leaderboard.boards import ONE, OWN, make_boards
from evalstop.studies.leaderboard.contest import SCORES, Arena, Contestant, Key
from evalstop.studies.leaderboard.figures import alike
from evalstop.studies.leaderboard.report import Report
from evalstop.studies.leaderboard.run import Entries, compete, enter
from evalstop.studies.leaderboard.standings import pareto

WORLDS = ["paper", "plateau", "dips", "triangle"]
RULES = ["k-decline", "ewma-drawdown", "unimodal-glr", "gao-fit", "learned"]
OUTSIDER = '''
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class LastFall:
    """Watch the last fall."""

    name: ClassVar[str] = "last-fall"

    def statistic(self, prefix):
        return prefix[:, -2] - prefix[:, -1] if prefix.shape[1] > 1 else prefix[:, 0] * 0 - 1
'''


def small(worlds=WORLDS, rules=RULES, *, runs=800, seeds=2, fprs=(0.015, 0.05)):
    entries = enter(worlds, rules, [8], fprs)
    return Entries(entries.boards, entries.rules, runs, seeds)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return compete(small(), tmp_path_factory.mktemp("leaderboard"), seed=3)


def saved(frame, threshold, fpr=0.015):
    rows = frame[(frame["threshold"] == threshold) & (frame["fpr"] == fpr)]
    return rows.pivot_table(index="detector", columns="world", values="saved")


@pytest.mark.parametrize("threshold", [OWN, ONE])
def test_nobody_beats_who_knows_the_world_and_the_truth_beats_all(found, threshold):
    table = saved(found.frame, threshold)
    rules = table.loc[RULES]
    assert (rules.mean(axis=1) < table.loc["oracle-posterior"].mean()).all()
    if threshold == OWN:
        assert (rules < table.loc["oracle-posterior"] + 0.02).all(axis=None)
    assert (table.loc["oracle-posterior"] < table.loc["oracle"]).all()
    assert (table.loc[["never", "always"]] == 0).all(axis=None)


def test_reference_lines(found):
    rows = found.frame.groupby("detector")[list(SCORES)].mean()
    assert rows.loc["never", ["recall_before_last", "fpr_healthy", "premature"]].sum() == 0
    assert rows.loc["always", "fpr_healthy"] == rows.loc["always", "saved_any"] == 1
    assert rows.loc["oracle", "recall_before_last"] > 0.99
    assert rows.loc["oracle", "fpr_healthy"] == rows.loc["oracle", "delay_mean"] == 0


def test_one_threshold_is_the_highest_and_keeps_every_world(found):
    frame = found.frame[found.frame["detector"].isin([*RULES, "oracle-posterior"])]
    keys = ["detector", "fpr", "repeat"]
    own = frame[frame["threshold"] == OWN].groupby(keys)["threshold_value"].max()
    one = frame[frame["threshold"] == ONE].groupby(keys)["threshold_value"]
    assert (one.min() == own).all()
    assert (one.max() == own).all()
    for (threshold, fpr), rows in frame.groupby(["threshold", "fpr"]):
        worst = rows.groupby(["detector", "world"])["fpr_healthy"].mean().max()
        # 640 fresh healthy runs, thresholds from 1,600: four standard errors.
        assert worst < fpr + 4 * np.sqrt(fpr * (1 / 640 + 1 / 1600))
        assert (threshold, worst > 0) in {(OWN, True), (ONE, True)}


def test_numbers_depend_on_neither_workers_nor_order(tmp_path):
    worlds, rules = WORLDS[:2], RULES[:3]
    one = compete(small(worlds, rules, runs=200), tmp_path / "1", seed=1, jobs=1)
    two = compete(small(worlds, rules[::-1], runs=200), tmp_path / "2", seed=1, jobs=2)
    keys = ["world", "detector", "threshold", "fpr", "repeat"]
    frames = [lb.frame.set_index(keys).sort_index() for lb in (one, two)]
    pd.testing.assert_frame_equal(*frames, check_exact=True)
    other = compete(small(worlds, rules, runs=200), tmp_path / "1", seed=2, jobs=1)
    assert not other.frame["saved"].equals(one.frame["saved"])


def test_only_what_is_new_is_computed(tmp_path, monkeypatch):
    compete(small(WORLDS[:2], RULES[:2], runs=100), tmp_path)
    measured = []
    measure = Contestant.measure
    monkeypatch.setattr(
        Contestant, "measure", lambda self, made: measured.append(self.rule) or measure(self, made)
    )
    more = compete(small(WORLDS[:2], RULES[:3], runs=100), tmp_path)
    assert measured == [DETECTORS.build(RULES[2])] * 2
    assert set(RULES[:3]) < set(more.frame["detector"])


def test_rankings_are_those_that_are_frozen():
    entries = enter(["R1", "R2", "R3"], ["ewma-drawdown:weight=.7"], [8], [0.05])
    for board, ranking in zip(entries.boards, (R1, R2, R3), strict=True):
        assert [field.label for field in board.fields] == list(ranking.cells)
        assert board.fprs == (ranking.fpr,)
        assert board.thresholds == ((ONE,) if ranking.one_threshold else (OWN,))
    # And a rule scores there as it does here.
    rule = DETECTORS.build("ewma-drawdown:weight=.7")
    for board, ranking, runs in ((entries.boards[0], R1, 4000), (entries.boards[2], R3, 500)):
        theirs = np.mean([cell.score for cell in rank(rule, ranking, 10, runs)])
        contestant = Contestant(rule, board.fprs, board.thresholds)
        made = Arena(board.fields, 2 * runs).make(np.random.SeedSequence(2))
        told = contestant.measure(made)
        ours = np.mean([v for k, v in told.items() if Key.read(k).score == ranking.by])
        assert ours == pytest.approx(theirs, abs=0.025)


def test_a_world_that_sets_its_length_is_on_the_board_of_that():
    boards = make_boards(["paper", "dips:n=12", "plateau:sigma=.1,n=8"], [8, 20], [0.05])
    assert {b.name: [f.label for f in b.fields] for b in boards} == {
        "n=8": ["paper", "plateau:sigma=0.1"],
        "n=12": ["dips"],
        "n=20": ["paper"],
    }


def test_an_alarm_at_the_last_eval_counts_for_nothing_and_spends_nothing():
    """A rule that says the same of all runs is left with its last eval."""
    (board,) = make_boards(["paper"], [8], [0.05])
    made = Arena(board.fields, 100).make(np.random.SeedSequence(0))
    told = Contestant(DETECTORS.build("fixed-progress"), board.fprs, (OWN,)).measure(made)
    told = {Key.read(text).score: value for text, value in told.items()}
    assert 7 / 8 < told["threshold_value"] < 1
    assert told["fpr_healthy"] == told["recall_before_last"] == 0


def test_pareto_and_alike():
    scores = pd.DataFrame({"a": [1, 2, 1, 0], "b": [1, 1, 3, 0]}, index=list("wxyz"))
    assert pareto(scores) == ["x", "y"]
    assert alike(np.array([1.0, 1.5, 3.0, 9.0]), 1.8) == [(0, 1), (1, 2)]
    assert alike(np.array([1.0, 5.0]), 1) == []


def test_the_report(found, tmp_path):
    report = Report(found)
    files = {path.name for path in report.save(tmp_path, "evalstop leaderboard")}
    assert {"leaderboard.csv", "leaderboard.parquet", "paired_tests.csv", "report.html"} <= files
    assert {"saved-n8.svg", "critical-difference-one.svg", "worlds-n8-own.svg"} <= files
    table = pd.read_csv(tmp_path / "leaderboard.csv")
    assert len(table) == 2 * 2 * (len(RULES) + 4)
    assert (table["us_per_eval"] > 0).all()
    tests = pd.read_csv(tmp_path / "paired_tests.csv")
    assert (tests["detector"] != tests["best_single"]).all()
    assert (tests["best_single"] != "learned").all()
    assert (tests["p_holm"] >= tests["p"]).all()
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"(src|href)=.?http|@import|<link", page)  # nothing from outside
    assert page.count("<svg") == 5
    assert "nan" not in page


def test_a_file_of_ones_own_gets_its_row_with_one_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OUTSIDER)
    options = ["--smoke", "--no-track", "--jobs", "1", "--horizons", "8", "--worlds", "paper"]
    detectors = ["--detectors", "mine.py:LastFall,drawdown"]
    assert main(["leaderboard", *options, *detectors, "--seed", "4", "--json"]) == 0
    told = capsys.readouterr()
    rows = json.loads(told.out)
    mine = {row["fpr"]: row for row in rows if row["detector"] == "last-fall"}
    assert set(mine) == {0.01, 0.015, 0.05}
    assert 0 < mine[0.015]["saved"] < 1
    assert "report.html" in told.err
    assert (tmp_path / "evalstop-out" / "leaderboard" / "worlds.csv").is_file()


def test_an_entry_point_is_among_all(tmp_path, monkeypatch):
    (tmp_path / "their_rule.py").write_text(OUTSIDER)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("last-fall", "their_rule:LastFall", "evalstop.detectors")
    monkeypatch.setattr(catalogue_module, "entry_points", lambda group: [point])
    names = [type(rule).__name__ for rule in enter(["paper"], ["all"], [8], [0.05]).rules]
    assert "LastFall" in names
    assert "Learned" in names


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--worlds", "papr"], "did you mean 'paper'"),
        (["--worlds", "paper:sigm=1"], "did you mean 'sigma'"),
        (["--worlds", ","], "worlds: there is none"),
        (["--worlds", "paper:hacking=0"], "hacking must be more than 0 and less than 1"),
        (["--detectors", "drawdwn"], "did you mean 'drawdown'"),
        (["--detectors", "never"], "detectors: there is none to compare"),
        (["--detectors", "nowhere.py:Rule"], "there is no file nowhere.py"),
        (["--fpr", "2"], "fpr: must be between 0 and 1"),
        (["--fpr", "a"], "--fpr: must be numbers"),
        (["--fpr", "0.0001"], "0.0001"),
        (["--horizons", "1.5"], "--horizons: must be numbers"),
        (["--horizons", "0"], "n must be at least 1"),
        (["--seed", "-1"], "Invalid value for '--seed'"),
        (["--jobs", "-1"], "jobs: must be at least 1"),
    ],
)
def test_errors_are_one_line(options, says, tmp_path, capsys):
    given = ["--worlds", "paper", "--detectors", "drawdown", "--smoke", "--jobs", "1"]
    out = ["--out", str(tmp_path / "out"), "--no-track"]
    assert main(["leaderboard", *given, *options, *out]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert says in told.err
    assert told.err.count("\n") == 1


def test_two_rules_of_one_name_are_refused_one_rule_twice_is_not(tmp_path):
    for name in ("one", "other"):
        (tmp_path / f"{name}.py").write_text(f"# {name}\n{OUTSIDER}")
    one, other = (f"{tmp_path}/{name}.py:LastFall" for name in ("one", "other"))
    assert len(enter(["paper"], [one, one, "k-decline", "k-decline:k=2"], [8], [0.05]).rules) == 2
    with pytest.raises(UserError, match="last-fall: two detectors have this name"):
        enter(["paper"], [one, other], [8], [0.05])


def test_no_detector_without_a_name():
    with pytest.raises(UserError, match="none to compare"):
        enter(["paper"], [], [8], [0.05])
