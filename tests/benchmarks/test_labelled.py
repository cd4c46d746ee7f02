import numpy as np
import pytest
from made_curves import curve, labelled

from evalstop.benchmarks.labelled import label_curves, labels_in_file
from evalstop.detectors.logs.curve import Reading
from evalstop.detectors.logs.eval_runs import eval_runs
from evalstop.errors import UserError

CURVES = [
    curve("b", [0.1, 0.5, 0.9, 0.5], "declined", source="s"),
    curve("a", [0.1, 0.5, 0.7, 0.9], "healthy", source="s"),
    curve("a", [0.9, 0.5, 0.3, 0.2], "healthy", source="s", metric="loss", higher=False),
    curve("c", [0.5, 0.5, 0.6, 0.5], "ambiguous", source="s"),
    curve("a", [0.5, 0.6, 0.5], "plateau", source="t"),
]


def test_who_is_positive_negative_and_left_out():
    told = labelled(CURVES)
    assert [(c.source, c.run, c.metric) for c in told.curves] == [
        ("s", "a", "acc"),
        ("s", "a", "loss"),
        ("s", "b", "acc"),
        ("t", "a", "acc"),
    ]
    assert told.population.kind.tolist() == ["healthy", "healthy", "hacking", "healthy"]
    assert told.groups.tolist() == [0, 0, 1, 2]
    assert told.n_ambiguous == 1
    assert told.notes[0] == (
        "positive: 1 curve labelled declined; negative: 2 healthy, 1 plateau; 1 ambiguous left out"
    )


def test_scores_are_turned_so_that_higher_is_better():
    told = labelled(CURVES)
    assert told.runs.score[1].tolist() == [-0.9, -0.5, -0.3, -0.2]


def test_the_peak_is_that_of_the_best_rise_and_fall():
    told = labelled(CURVES)
    assert told.population.estimated
    assert told.population.peak[2] == 0.75
    assert told.population.true[2].tolist() == [0.1, 0.5, 0.9, 0.5]


def test_missing_evals_have_no_say_in_the_peak():
    gap = curve("b", [0.1, np.nan, 0.9, np.nan, 0.5], "declined")
    told = labelled([gap, *CURVES[1:]])
    (row,) = np.flatnonzero(told.population.hacking)
    assert told.population.peak[row] == 0.6
    np.testing.assert_allclose(told.population.true[row], [0.1, 0.5, 0.9, 0.7, 0.5])


def test_only_selected_curves():
    assert len(labelled(CURVES, select={"source": "s", "metric": "acc"})) == 2
    with pytest.raises(UserError, match="sauce: no such column, did you mean 'source'"):
        labelled(CURVES, select={"sauce": "s"})
    with pytest.raises(UserError, match="source=x: no curve has this"):
        labelled(CURVES, select={"source": "x"})


def test_another_word_may_be_the_positive_one():
    told = labelled(CURVES, positive="plateau")
    assert told.population.hacking.tolist() == [False, False, False, True]
    with pytest.raises(UserError, match=r"need curves labelled 'bad'.*healthy \(2\).*--positive"):
        labelled(CURVES, positive="bad")


def test_curves_without_a_label_or_a_number_are_named():
    blank = curve("d", [0.1, 0.2], "")
    void = curve("e", [np.nan, np.nan], "healthy")
    told = labelled([*CURVES, blank, void])
    assert told.warnings == [
        "left out: 1 curve without a number",
        "left out: 1 curve without a label",
    ]


def test_constant_curves_are_named():
    told = labelled([*CURVES, curve("f", [0.5, 0.5, 0.5], "plateau")])
    assert told.warnings == ["no rule can tell anything of 1 constant curve"]


def test_metrics_of_different_units_are_named():
    rewards = [curve(f"r{i}", [0, 5000, 9000, 4000], "healthy") for i in range(3)]
    assert "factor of" in labelled([*CURVES, *rewards]).warnings[0]


class TestFile:
    evals = eval_runs(Reading(curves=CURVES))

    def read(self, tmp_path, text):
        path = tmp_path / "labels.csv"
        path.write_text(text)
        return label_curves(self.evals, labels_in_file(path))

    def test_a_label_for_each_run(self, tmp_path):
        told = self.read(tmp_path, "run,label\na,healthy\nb,declined\n")
        assert told.population.kind.tolist() == ["healthy", "healthy", "hacking", "healthy"]
        assert told.warnings == ["left out: 1 curve without a label"]

    def test_a_label_for_one_metric_outranks_that_of_the_run(self, tmp_path):
        told = self.read(
            tmp_path, "run,metric,label\na,,healthy\na,loss,declined\nb,acc,declined\n"
        )
        assert told.population.kind.tolist() == ["healthy", "hacking", "hacking", "healthy"]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "needs the columns run,label"),
            ("run,kind\na,b\n", "needs the columns run,label"),
            ("run,label\na,healthy\na,declined\n", "a has two labels"),
        ],
    )
    def test_what_is_no_label_file(self, tmp_path, text, said):
        with pytest.raises(UserError, match=said):
            self.read(tmp_path, text)

    def test_binary_junk(self, tmp_path):
        path = tmp_path / "labels.csv"
        path.write_bytes(b"\xff\xfe\x00\x01run,label\n")
        with pytest.raises(UserError, match="cannot be read"):
            labels_in_file(path)
