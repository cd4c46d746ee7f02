"""Rules that every format obeys, on small logs of the kinds people have."""

import json
import math

import pytest

from evalstop.detectors.logs import read_logs
from evalstop.errors import UserError


@pytest.fixture
def log(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else lines(text), encoding="utf-8")
        return path

    return write


def lines(records) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def evals(reading) -> dict:
    """Give the eval curves: (run, metric) to {step: value}."""
    return {
        (c.run, c.metric): dict(zip(c.steps.tolist(), c.values.tolist(), strict=True))
        for c in reading.curves
        if c.role == "eval"
    }


def only(reading) -> dict:
    (points,) = evals(reading).values()
    return points


class TestClocks:
    def test_the_trainers_step_wins_over_a_loggers_counter(self, log):
        rows = [
            {"_step": 7, "train/global_step": 10, "eval/f1": 0.1, "epoch": 0.5},
            {"_step": 9, "train/global_step": 20, "eval/f1": 0.2, "epoch": 1.0},
        ]
        reading = read_logs(log("a.jsonl", rows))
        assert only(reading) == {10: 0.1, 20: 0.2}
        assert reading.warnings == []

    def test_wandbs_counter_is_used_with_a_warning(self, log):
        reading = read_logs(log("a.csv", "_step,_runtime,eval/f1\n3,1.5,.1\n5,2.5,.2\n"))
        assert only(reading) == {3: 0.1, 5: 0.2}
        assert "W&B" in reading.warnings[0]

    def test_an_epoch_where_evals_have_no_step(self, log):
        text = "epoch,step,loss,val_acc\n1,10,.9,\n1,,,.5\n2,20,.8,\n2,,,.6\n"
        assert only(read_logs(log("a.csv", text))) == {1: 0.5, 2: 0.6}

    def test_order_where_there_is_no_clock(self, log):
        path = log("a.csv", "eval_acc\n.1\n.2\n.3\n")
        assert only(read_logs(path)) == {0: 0.1, 1: 0.2, 2: 0.3}
        assert "no step" in read_logs(path).warnings[0]
        assert only(read_logs(path, step_every=50)) == {0: 0.1, 50: 0.2, 100: 0.3}

    def test_train_rows_between_evals_do_not_count(self, log):
        rows = [{"loss": 1.0}, {"loss": 0.9}, {"eval_acc": 0.1}, {"loss": 0.8}, {"eval_acc": 0.2}]
        text = lines(rows)
        assert only(read_logs(log("a.jsonl", text))) == {0: 0.1, 1: 0.2}

    @pytest.mark.parametrize(
        ("label", "step"),
        [
            *(
                ("1,000", 1000),
                ("Step 1,000", 1000),
                ("1.0e3", 1000),
                ("step_7", 7),
                ("10k", 10_000),
            ),
            *(("checkpoint-250", 250), ("after 40", 40), ("global_step=3", 3), ("Base", 0)),
        ],
    )
    def test_labels(self, log, label, step):
        text = f'checkpoint,eval_acc\n"{label}",.1\n99999,.2\n'
        assert only(read_logs(log("a.csv", text))) == {step: 0.1, 99999: 0.2}

    def test_a_label_without_a_number_is_left_out(self, log):
        reading = read_logs(log("a.csv", "checkpoint,eval_acc\n1,.1\n2,.2\nfinal,.9\n"))
        assert only(reading) == {1: 0.1, 2: 0.2}
        assert "final" in reading.warnings[0]


class TestRepeats:
    def test_ranks_are_averaged(self, log):
        text = "rank,step,eval_acc\n0,1,.5\n0,2,.6\n1,1,.7\n1,2,.6\n"
        reading = read_logs(log("a.csv", text))
        curve = reading.curves[0]
        assert only(reading) == {1: pytest.approx(0.6), 2: 0.6}
        assert curve.n.tolist() == [2, 2]
        assert curve.stderr == pytest.approx([0.1, 0.0])
        assert reading.warnings == ["a: 2 rows (rank) a step: averaged 2 steps"]

    def test_a_row_of_a_rank_that_was_copied_counts_once(self, log):
        text = "rank,step,eval_acc\n0,1,.5\n0,1,.5\n1,1,.8\n0,2,.6\n1,2,.6\n"
        curve = read_logs(log("a.csv", text)).curves[0]
        assert curve.values[0] == pytest.approx(0.65)
        assert curve.n.tolist() == [2, 2]

    def test_a_rank_that_resumed_replaces_its_own_rows(self, log):
        text = (
            "step,rank,eval_acc\n1,0,.1\n1,1,.3\n2,0,.9\n2,1,.9\n2,0,.5\n2,1,.7\n3,0,.4\n3,1,.4\n"
        )
        rows = text.splitlines(keepends=True)
        resumed = [*rows[:5], "3,0,.8\n", "3,1,.8\n", *rows[5:]]
        got = only(read_logs(log("a.csv", "".join(resumed))))
        assert got == {1: pytest.approx(0.2), 2: pytest.approx(0.6), 3: 0.4}

    def test_an_episode_number_that_rises_is_no_replicate(self, log):
        text = "step,episode,eval_return\n10,1,5\n20,2,6\n30,3,7\n20,4,8\n"
        reading = read_logs(log("a.csv", text))
        assert only(reading) == {10: 5, 20: 8}
        assert "goes back from 30 to 20" in reading.warnings[0]

    def test_a_nan_among_repeats_is_said(self, log):
        text = "step,eval_acc\n1,.5\n1,nan\n1,.7\n2,.6\n"
        reading = read_logs(log("a.csv", text))
        assert only(reading) == {1: pytest.approx(0.6), 2: 0.6}
        assert any("nan" in w and "step 1" in w for w in reading.warnings)

    def test_seeds_are_runs(self, log):
        text = "seed,step,eval_return\n1,10,5\n1,20,6\n2,10,4\n2,20,7\n"
        got = evals(read_logs(log("a.csv", text)))
        assert got[("seed=1", "eval_return")] == {10: 5, 20: 6}
        assert got[("seed=2", "eval_return")] == {10: 4, 20: 7}

    def test_a_constant_seed_is_no_name(self, log):
        assert ("a", "eval_x") in evals(read_logs(log("a.csv", "seed,step,eval_x\n1,1,5\n1,2,6\n")))

    def test_runs_with_several_seeds_carry_both(self, log):
        text = "run,seed,step,eval_x\nA,1,1,5\nA,2,1,6\nB,1,1,5\nA,1,2,5\nA,2,2,6\nB,1,2,5\n"
        runs = {run for run, _ in evals(read_logs(log("a.csv", text)))}
        assert runs == {"A/seed=1", "A/seed=2", "B/seed=1"}


class TestRestarts:
    def test_a_late_eval_is_no_restart(self, log):
        rows = [{"step": 100, "loss": 1}, {"step": 110, "loss": 1}, {"step": 100, "eval_acc": 0.5}]
        rows += [{"step": 210, "loss": 1}, {"step": 200, "eval_acc": 0.6}]
        reading = read_logs(log("a.jsonl", rows))
        assert only(reading) == {100: 0.5, 200: 0.6}
        assert reading.warnings == []

    def test_train_rows_that_go_back_cut_the_evals(self, log):
        rows = [{"step": s, "loss": 1} for s in (50, 100, 150, 190)]
        rows.insert(2, {"step": 100, "eval_acc": 0.5})
        rows.insert(4, {"step": 150, "eval_acc": 0.9})
        rows += [{"step": 120, "loss": 1}, {"step": 150, "eval_acc": 0.4}]
        reading = read_logs(log("a.jsonl", rows))
        assert only(reading) == {100: 0.5, 150: 0.4}
        assert reading.curves[1].n is None
        assert len(reading.warnings) == 1
        assert "from 190 to 120" in reading.warnings[0]

    def test_every_run_of_a_file_has_its_own_restarts(self, log):
        text = "run,step,eval_x\nA,1,1\nB,1,1\nA,2,2\nB,2,2\nB,1,3\n"
        got = evals(read_logs(log("a.csv", text)))
        assert got == {("A", "eval_x"): {1: 1, 2: 2}, ("B", "eval_x"): {1: 3}}


class TestTrainer:
    ROWS = (
        *(
            {"step": s, "eval_gleu": g, "eval_loss": 2 - g}
            for s, g in ((1, 0.3), (2, 0.5), (3, 0.4))
        ),
        {"train_runtime": 9.0, "train_loss": 0.1, "step": 3},
    )

    def state(self, log, *more, **told):
        return log("trainer.json", json.dumps({"log_history": [*self.ROWS, *more], **told}))

    def test_best_metric_tells_a_direction(self, log):
        path = self.state(log, best_metric=0.5, best_model_checkpoint="out/checkpoint-2")
        reading = read_logs(path)
        higher = {c.metric: c.higher_is_better for c in reading.curves}
        assert higher == {"eval_gleu": True, "eval_loss": False}
        assert any("best_metric" in note for note in reading.notes)

    def test_without_it_the_user_is_asked(self, log):
        reading = read_logs(self.state(log))
        assert {c.metric: c.higher_is_better for c in reading.curves}["eval_gleu"] is None
        assert any("--direction eval_gleu=" in note for note in reading.notes)

    def test_the_user_outranks_the_file(self, log):
        path = self.state(log, best_metric=0.5, best_global_step=2)
        reading = read_logs(path, directions={"eval_gleu": "lower"})
        assert {c.metric: c.higher_is_better for c in reading.curves}["eval_gleu"] is False

    def test_an_eval_after_the_end_that_is_the_best_again(self, log):
        reading = read_logs(self.state(log, {"step": 3, "eval_gleu": 0.5, "eval_loss": 1.5}))
        assert evals(reading)[("trainer", "eval_gleu")] == {1: 0.3, 2: 0.5, 3: 0.4}
        assert "step 2" in reading.warnings[0]

    def test_an_eval_after_the_end_that_is_news_is_averaged(self, log):
        reading = read_logs(self.state(log, {"step": 3, "eval_gleu": 0.6, "eval_loss": 1.4}))
        assert evals(reading)[("trainer", "eval_gleu")][3] == pytest.approx(0.5)
        assert "duplicate step 3" in reading.warnings[0]

    def test_training_that_goes_on_after_its_end(self, log):
        more = [{"step": 4, "loss": 1}, {"step": 4, "eval_gleu": 0.5, "eval_loss": 1.5}]
        reading = read_logs(self.state(log, *more))
        assert evals(reading)[("trainer", "eval_gleu")][4] == 0.5
        assert reading.warnings == []


class TestSplits:
    def test_a_column_tells_train_from_eval(self, log):
        text = "step,split,loss,acc\n1,train,1,.4\n1,val,1.1,.3\n2,train,.9,.5\n2,val,1.0,.4\n"
        reading = read_logs(log("a.csv", text))
        assert evals(reading) == {("a", "loss"): {1: 1.1, 2: 1.0}, ("a", "acc"): {1: 0.3, 2: 0.4}}
        train = [c for c in reading.curves if c.role == "train_loss"]
        assert train[0].values.tolist() == [1, 0.9]

    def test_two_splits_are_two_metrics(self, log):
        text = "step,split,acc\n1,val,.3\n1,test,.2\n2,val,.4\n2,test,.3\n"
        got = evals(read_logs(log("a.csv", text)))
        assert got == {("a", "val/acc"): {1: 0.3, 2: 0.4}, ("a", "test/acc"): {1: 0.2, 2: 0.3}}

    def test_an_event_tells_it_too(self, log):
        rows = [
            {"event": "train", "step": 1, "loss": 1.0},
            {"event": "eval", "step": 1, "score": 3},
        ]
        assert evals(read_logs(log("a.jsonl", rows))) == {("a", "score"): {1: 3}}

    def test_names_alone_where_nothing_is_of_training(self, log):
        reading = read_logs(log("a.csv", "step,kappa,n_items\n1,.3,9\n2,.4,9\n"))
        assert evals(reading) == {("a", "kappa"): {1: 0.3, 2: 0.4}}
        assert any("kappa" in note for note in reading.notes)

    def test_a_training_log_is_refused_and_says_what_it_has(self, log):
        rows = [{"step": 1, "reward": 0.1, "rewards/fn/mean": 0.1, "kl": 0.0, "score": 1.0}]
        with pytest.raises(UserError, match=r"no eval.*reward, rewards/fn/mean, kl, score"):
            read_logs(log("a.jsonl", rows * 2))

    def test_a_named_series_is_an_eval(self, log):
        rows = [{"step": s, "reward": s / 10, "eval_acc": 0.5} for s in (1, 2)]
        path = log("a.jsonl", rows)
        assert evals(read_logs(path, metrics=["reward"])) == {("a", "reward"): {1: 0.1, 2: 0.2}}
        with pytest.raises(UserError, match="no series rewrd"):
            read_logs(path, metrics=["rewrd"])


class TestNumbers:
    def test_percent_columns_are_fractions(self, log):
        reading = read_logs(log("a.csv", "step,eval_acc\n1,41.5%\n2,42\n"))
        assert only(reading) == {1: 0.415, 2: 0.42}
        assert "step 2" in reading.warnings[0]

    @pytest.mark.parametrize("blank", ["", "NA", "None", "-", "No log", "null", "n/a"])
    def test_blanks_are_no_evals(self, log, blank):
        reading = read_logs(log("a.csv", f"step,eval_acc,loss\n1,.5,1\n2,{blank},1\n3,0.0,1\n"))
        assert only(reading) == {1: 0.5, 3: 0.0}
        assert reading.warnings == []

    @pytest.mark.parametrize(
        ("cell", "sign"), [("nan", "nan"), ("inf", "inf"), ("-Infinity", "-inf")]
    )
    def test_what_is_not_finite_stays_at_its_step(self, log, cell, sign):
        reading = read_logs(log("a.csv", f"step,eval_acc\n1,.5\n2,{cell}\n"))
        assert math.isnan(only(reading)[2])
        assert reading.curves[0].nonfinite == ((2.0, sign),)
        assert reading.warnings == [f"a/eval_acc is {sign} at step 2: kept as missing"]

    def test_integers_that_no_float_holds(self, log):
        text = '{"step": 1, "eval_x": 1' + "0" * 400 + '}\n{"step": 2, "eval_x": 1}\n'
        assert read_logs(log("a.jsonl", text)).curves[0].nonfinite == ((1.0, "inf"),)

    def test_thousands_in_quotes_are_no_decimals(self, log):
        text = 'step,eval_x\n"1,000","2,500"\n"2,000","3,500"\n'
        assert only(read_logs(log("a.csv", text))) == {1000: 2500, 2000: 3500}

    def test_european_thousands(self, log):
        text = "step;eval_x\n1.000;0,431\n2.000;0,512\n"
        assert only(read_logs(log("a.csv", text))) == {1000: 0.431, 2000: 0.512}

    def test_a_cell_that_is_no_number_is_said(self, log):
        reading = read_logs(log("a.csv", "step,eval_x\n1,5\n2,oops\n3,6\n"))
        assert only(reading) == {1: 5, 3: 6}
        assert "line 3: 'oops'" in reading.warnings[0]


class TestTables:
    def test_a_repeated_header_may_order_columns_anew(self, log):
        text = "step,loss,eval_x\n1,9,.1\n2,8,.2\nstep,eval_x,loss\n2,.25,7\n3,.3,6\n"
        reading = read_logs(log("a.csv", text))
        assert only(reading) == {1: 0.1, 2: 0.25, 3: 0.3}
        assert "line 4" in reading.warnings[0]

    @pytest.mark.parametrize("space", [" ", "   ", "\t", " | ", ";"])
    def test_other_separators(self, log, space):
        rows = [("step", "loss", "eval_x"), ("1", "9", ".1"), ("20", "8", ".2")]
        text = "".join(space.join(row) + "\n" for row in rows)
        assert only(read_logs(log("a.txt", text))) == {1: 0.1, 20: 0.2}

    def test_a_torn_last_line_is_left_out(self, log):
        reading = read_logs(log("a.csv", "step,loss,eval_x\n1,9,.1\n2,8,.2\n3,"))
        assert only(reading) == {1: 0.1, 2: 0.2}
        assert "line 4 is incomplete" in reading.warnings[0]

    def test_in_a_growing_file_a_line_counts_with_its_end(self, log):
        path = log("a.csv", "step,eval_x\n1,.1\n2,.2\n3,.3")
        assert only(read_logs(path))[3] == 0.3
        assert 3 not in only(read_logs(path, growing=True))

    def test_an_open_quote_is_said(self, log):
        path = log("a.csv", 'step,eval_x,text\n1,.1,a\n2,.2,"b\n3,.3,c\n')
        reading = read_logs(path)
        assert only(reading) == {1: 0.1}
        assert "line 3: a quote is left open" in reading.warnings[0]

    def test_a_table_of_runs_is_refused(self, log):
        with pytest.raises(UserError, match="table of runs"):
            read_logs(log("a.csv", "run,eval_acc\nA,.5\nB,.6\n"))

    def test_two_columns_of_one_name(self, log):
        reading = read_logs(log("a.csv", "step,eval_x,eval_x\n1,.1,9\n2,.2,9\n"))
        assert only(reading) == {1: 0.1, 2: 0.2}
        assert "eval_x" in reading.warnings[0]


class TestPaths:
    def test_several_paths_and_one_that_fails(self, log, tmp_path):
        path = log("a.csv", "step,eval_x\n1,.1\n2,.2\n")
        reading = read_logs([path, tmp_path / "none.csv", path])
        assert len(reading.curves) == 1
        assert reading.failed == [
            f"{tmp_path}/none.csv: there is no such file or folder, check the path"
        ]

    def test_files_of_one_name_are_told_apart(self, log):
        text = "step,eval_x\n1,.1\n2,.2\n"
        paths = [log("a/e.csv", text), log("b/e.csv", text)]
        assert [c.run for c in read_logs(paths).curves] == ["a/e", "b/e"]

    def test_runs_that_contradict_are_told_apart(self, log):
        first = log("a.csv", "run,step,eval_x\nR,1,.1\nS,1,.1\nR,2,.2\nS,2,.2\n")
        second = log("b.csv", "run,step,eval_x\nR,1,.1\nS,1,.7\nR,2,.2\nS,2,.2\n")
        runs = sorted(c.run for c in read_logs([first, second]).curves)
        assert runs == ["a/R", "a/S", "b/R", "b/S"]

    def test_a_pattern(self, log, tmp_path):
        log("x [1]/e (2).csv", "step,eval_x\n1,.1\n2,.2\n")
        log("y/e.csv", "step,eval_x\n1,.1\n2,.2\n")
        assert len(read_logs(tmp_path / "x [1]" / "e (2).csv").curves) == 1
        assert len(read_logs(str(tmp_path / "*" / "e*.csv")).curves) == 2

    def test_nothing_at_all(self):
        with pytest.raises(UserError, match="no path"):
            read_logs([])

    def test_arguments_that_name_nothing(self, log):
        path = log("a.csv", "step,eval_acc\n1,.1\n2,.2\n")
        with pytest.raises(UserError, match="did you mean 'eval_acc'"):
            read_logs(path, directions={"eval_ac": "higher"})
        with pytest.raises(UserError, match="=higher or"):
            read_logs(path, directions={"eval_acc": "up"})
        with pytest.raises(UserError, match="positive"):
            read_logs(path, step_every=0)
