"""Formats beyond what the kit and the round trips show: folders, stores, event files, arrays."""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import log_writers
import numpy as np
import pytest

from evalstop.detectors.logs import read_logs
from evalstop.detectors.logs.formats import mlflow_sqlite
from evalstop.errors import UserError

KIT = Path(__file__).resolve().parents[2] / "data" / "logs"


def evals(reading) -> dict:
    return {
        (c.run, c.metric): dict(zip(c.steps.tolist(), c.values.tolist(), strict=True))
        for c in reading.curves
        if c.role == "eval"
    }


def snapshot(folder: Path) -> dict:
    """Give name, content and time of change of each file."""
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(folder.iterdir())}


class TestTrainerFolders:
    @staticmethod
    def state(path: Path, steps: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"step": s, "eval_acc": s / 10} for s in range(1, steps + 1)]
        path.write_text(json.dumps({"global_step": steps, "log_history": rows}))

    def test_the_newest_checkpoint_holds_all(self, tmp_path):
        for steps in (9, 10, 100):
            self.state(tmp_path / "run" / f"checkpoint-{steps}" / "trainer_state.json", steps)
        (tmp_path / "run" / "checkpoint-100" / "config.json").write_text('{"hidden_size": 8}')
        (tmp_path / "run" / "all_results.json").write_text('{"epoch": 1.0, "eval_acc": 10.0}')
        reading = read_logs(tmp_path)
        assert len(evals(reading)[("run", "eval_acc")]) == 100
        assert len(evals(reading)) == 1
        assert reading.warnings == []

    def test_the_state_of_the_whole_run_is_used_if_it_reaches_further(self, tmp_path):
        self.state(tmp_path / "run" / "checkpoint-5" / "trainer_state.json", 5)
        self.state(tmp_path / "run" / "trainer_state.json", 7)
        assert len(evals(read_logs(tmp_path))[("run", "eval_acc")]) == 7
        self.state(tmp_path / "run" / "checkpoint-9" / "trainer_state.json", 9)
        assert len(evals(read_logs(tmp_path))[("run", "eval_acc")]) == 9

    def test_a_checkpoint_being_written_gives_way_to_the_one_before(self, tmp_path):
        for steps in (5, 6):
            self.state(tmp_path / "run" / f"checkpoint-{steps}" / "trainer_state.json", steps)
        newest = tmp_path / "run" / "checkpoint-6" / "trainer_state.json"
        newest.write_text(newest.read_text()[:-40])
        reading = read_logs(tmp_path)
        assert len(evals(reading)[("run", "eval_acc")]) == 5
        assert "truncated" in reading.warnings[0]

    def test_other_logs_of_the_folder_are_the_same_run(self, tmp_path):
        self.state(tmp_path / "run" / "checkpoint-3" / "trainer_state.json", 3)
        log_writers.event_files({"eval/acc": {1: 0.9, 2: 0.9}}, tmp_path / "run" / "tb")
        for path in (tmp_path / "run" / "tb").iterdir():
            path.rename(tmp_path / "run" / path.name)
        (tmp_path / "run" / "README.md").write_text("|Step|F1|\n|---|---|\n|1|.1|\n|2|.2|\n")
        assert evals(read_logs(tmp_path)) == {("run", "eval_acc"): {1: 0.1, 2: 0.2, 3: 0.3}}

    def test_what_is_no_log_is_passed_over(self, tmp_path):
        self.state(tmp_path / "trainer_state.json", 3)
        (tmp_path / "data.csv").write_text("x,y\n1,2\n3,4\n")
        (tmp_path / "notes.txt").write_text("step 4000 was best, I think\n")
        (tmp_path / "weights.pt").write_bytes(b"PK\x03\x04" + bytes(100))
        (tmp_path / "state.pkl").write_bytes(b"\x80\x04N.")
        (tmp_path / "empty.jsonl").touch()
        reading = read_logs(tmp_path)
        assert list(evals(reading)) == [(tmp_path.name, "eval_acc")]
        assert reading.warnings == reading.failed == []

    def test_a_folder_without_logs(self, tmp_path):
        (tmp_path / "notes.txt").write_text("nothing\n")
        with pytest.raises(UserError, match=r"no training log of a known format in it \(1 file\)"):
            read_logs(tmp_path)

    def test_a_folder_of_train_logs_says_what_there_is(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"step": 1, "loss": 1}\n{"step": 2, "loss": 1}\n')
        with pytest.raises(UserError, match=r"no eval series.*loss"):
            read_logs(tmp_path)


class TestHarness:
    @staticmethod
    def results(acc: float, **told) -> str:
        task = {"acc,none": acc, "acc_stderr,none": 0.01, "alias": "t", "em,strict": acc / 2}
        task |= {"em,flexible": acc / 4, "em_stderr,flexible": "N/A"}
        higher = {"t": {"acc": True, "em": False}}
        return json.dumps(
            {"results": {"t": task}, "versions": {"t": 1}, "higher_is_better": higher, **told}
        )

    @pytest.mark.parametrize(
        "name",
        [
            "m-7b_step{}.json",
            "m-7b-{}.json",
            "{}.json",
            "m-7b/step{}/results.json",
            "checkpoint-{}/results_2026-01-02T03-04-05.123456.json",
            "toy__m__step_{}/results_2026-01-02T03-04-05.json",
        ],
    )
    def test_steps_come_from_names(self, tmp_path, name):
        for step in (16, 128, 1000):
            path = tmp_path / "evals" / name.format(step)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.results(step / 2000))
        reading = read_logs(tmp_path / "evals")
        curves = {c.metric: c for c in reading.curves}
        assert list(curves) == ["t/acc", "t/em,strict", "t/em,flexible"]
        assert curves["t/acc"].steps.tolist() == [16, 128, 1000]
        assert curves["t/acc"].stderr.tolist() == [0.01] * 3
        assert (curves["t/acc"].higher_is_better, curves["t/em,strict"].higher_is_better) == (
            True,
            False,
        )
        assert len({curve.run for curve in reading.curves}) == 1
        assert reading.warnings == []

    def test_or_from_the_model_that_was_evaluated(self, tmp_path):
        for step in (3, 20):
            told = {"config": {"model_args": f"pretrained=/x/run/checkpoint-{step},dtype=float"}}
            path = tmp_path / f"results_2026-01-0{step % 7}T03-04-05.json"
            path.write_text(self.results(step / 40, **told))
        assert read_logs(tmp_path).curves[0].steps.tolist() == [3, 20]

    def test_a_checkpoint_without_a_number_is_left_out(self, tmp_path):
        for step in ("step1", "step2", "final"):
            (tmp_path / f"m_{step}.json").write_text(self.results(0.5))
        reading = read_logs(tmp_path)
        assert reading.curves[0].steps.tolist() == [1, 2]
        assert "m_final.json" in reading.warnings[0]


class TestMlflow:
    @pytest.fixture
    def store(self, tmp_path) -> Path:
        path = tmp_path / "mlflow.db"
        shutil.copyfile(KIT / "mlflow_sqlite.db", path)
        return path

    @staticmethod
    def log(database: sqlite3.Connection, step: int, value: float) -> None:
        run = "aebb4543decf4460bcd0ab1a89f256b2"
        row = ("eval_accuracy", value, 1_790_200_000_000 + step, run, step, 0)
        database.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", row)

    def test_a_live_wal_is_read_and_left_alone(self, store):
        writer = sqlite3.connect(store)
        writer.execute("PRAGMA journal_mode=WAL")
        self.log(writer, 999, 0.25)
        writer.commit()
        self.log(writer, 2000, 0.5)  # not committed: nobody may see it
        before = snapshot(store.parent)
        assert Path(f"{store}-wal") in before
        points = evals(read_logs(store))[("heron-a", "eval_accuracy")]
        assert points[999] == 0.25
        assert 2000 not in points
        assert snapshot(store.parent) == before
        assert read_logs(store.parent).curves[0].steps[-1] == 999
        assert snapshot(store.parent) == before
        writer.close()

    def test_a_wal_whose_writer_died(self, store, tmp_path):
        writer = sqlite3.connect(store)
        writer.execute("PRAGMA journal_mode=WAL")
        self.log(writer, 999, 0.25)
        writer.commit()
        left = tmp_path / "left"
        left.mkdir()
        for ending in ("", "-wal"):
            shutil.copyfile(f"{store}{ending}", left / f"mlflow.db{ending}")
        writer.close()
        before = snapshot(left)
        assert evals(read_logs(left / "mlflow.db"))[("heron-a", "eval_accuracy")][999] == 0.25
        assert snapshot(left) == before

    def test_a_wal_database_at_rest(self, store):
        writer = sqlite3.connect(store)
        writer.execute("PRAGMA journal_mode=WAL")
        writer.close()
        before = snapshot(store.parent)
        assert len(evals(read_logs(store))) == 3
        assert snapshot(store.parent) == before

    def test_an_open_transaction_without_a_wal(self, store):
        writer = sqlite3.connect(store, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        self.log(writer, 999, 0.25)
        before = snapshot(store.parent)
        assert 999 not in evals(read_logs(store))[("heron-a", "eval_accuracy")]
        assert snapshot(store.parent) == before
        writer.close()

    def test_a_damaged_database(self, store):
        store.write_bytes(store.read_bytes()[:6000])
        with pytest.raises(UserError, match="cannot be read"):
            read_logs(store)

    def test_another_database(self, tmp_path):
        database = sqlite3.connect(tmp_path / "x.db")
        database.execute("CREATE TABLE t (a)")
        database.close()
        with pytest.raises(UserError, match="no MLflow runs"):
            read_logs(tmp_path / "x.db")

    def test_a_query_that_never_ends_is_stopped(self, tmp_path, monkeypatch):
        monkeypatch.setattr(mlflow_sqlite, "PATIENCE", 0.1)
        database = sqlite3.connect(tmp_path / "x.db")
        database.executescript(
            "CREATE TABLE runs (run_uuid, name, lifecycle_stage, start_time);"
            "INSERT INTO runs VALUES ('a', 'b', 'active', 1);"
            "CREATE VIEW metrics AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
            " SELECT 'a' run_uuid, 'eval' key, x timestamp, 1.0 value, x step, 0 is_nan FROM c;"
        )
        database.close()
        with pytest.raises(UserError, match="interrupted"):
            read_logs(tmp_path / "x.db")

    def test_runs_of_one_name_carry_their_ids(self, store):
        database = sqlite3.connect(store)
        database.execute("UPDATE tags SET value = 'same' WHERE key = 'mlflow.runName'")
        database.commit()
        database.close()
        runs = {run for run, _ in evals(read_logs(store))}
        assert runs == {"same (aebb4543)", "same (bb01a037)", "same (c73ef5cc)"}

    def test_deleted_runs_are_not_read(self, store):
        database = sqlite3.connect(store)
        database.execute("UPDATE runs SET lifecycle_stage = 'deleted' WHERE name = 'heron-a'")
        database.commit()
        database.close()
        assert {run for run, _ in evals(read_logs(store))} == {"heron-b", "heron-c"}

    def test_files_a_metric_line_without_its_end_is_torn(self, tmp_path):
        curves = {"eval/acc": {1: 0.1, 2: 0.2}}
        folder = log_writers.mlflow_files(curves, tmp_path / "mlruns")
        with (folder / "1" / "abc" / "metrics" / "eval" / "acc").open("a") as file:
            file.write("1003 0.3 1")  # of 100
        reading = read_logs(folder)
        assert evals(reading) == {("it's a", "eval/acc"): {1: 0.1, 2: 0.2}}
        assert "line 3 is incomplete" in reading.warnings[0]

    def test_files_without_steps_go_by_their_times(self, tmp_path):
        folder = log_writers.mlflow_files({"eval_x": {1: 1.0}}, tmp_path / "mlruns")
        text = "30 3 0\n10 1 0\n20 2 0\n"
        (folder / "1" / "abc" / "metrics" / "eval_x").write_text(text)
        assert evals(read_logs(folder)) == {("it's a", "eval_x"): {0: 1, 1: 2, 2: 3}}
        assert evals(read_logs(folder, step_every=50))[("it's a", "eval_x")].keys() == {0, 50, 100}

    def test_files_resumed_by_their_times(self, tmp_path):
        folder = log_writers.mlflow_files({"eval_x": {1: 1.0}}, tmp_path / "mlruns")
        lines = [(5, 2, 20), (1, 1, 10), (9, 9, 40), (3, 3, 30)]  # time, value, step
        text = "".join(f"{t} {v} {s}\n" for t, v, s in lines)
        (folder / "1" / "abc" / "metrics" / "eval_x").write_text(text)
        reading = read_logs(folder)
        assert evals(reading) == {("it's a", "eval_x"): {10: 1, 20: 2, 40: 9}}
        assert "from 30 to 20" in reading.warnings[0]


class TestEventFiles:
    @staticmethod
    def write(path: Path, *records: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(records))

    def test_a_second_session_start_is_obeyed(self, tmp_path):
        event = log_writers.event
        before = [event(s, {"eval/f1": s / 10}) for s in (1, 2, 3)]
        after = [event(s, {"eval/f1": s / 100}, time=2e9) for s in (4, 5)]
        start = event(0, {}, start=True), event(2, {}, time=2e9, start=True)
        self.write(tmp_path / "events.out.tfevents.1.a", start[0], *before)
        self.write(tmp_path / "events.out.tfevents.2.a", start[1], *after)
        reading = read_logs(tmp_path)
        assert evals(reading) == {(tmp_path.name, "eval/f1"): {1: 0.1, 4: 0.04, 5: 0.05}}
        assert "restart" in reading.warnings[0]

    def test_a_first_start_counts_where_it_follows_what_it_purges(self, tmp_path):
        event = log_writers.event
        before = [event(s, {"eval/f1": s / 10}) for s in (1, 2, 3)]
        after = [event(4, {"eval/f1": 0.9}, time=2e9)]
        self.write(tmp_path / "events.out.tfevents.1.a", *before)
        for step, steps in ((2, {1, 4}), (0, {1, 2, 3, 4})):
            start = event(step, {}, time=2e9, start=True)
            self.write(tmp_path / "events.out.tfevents.2.a", start, *after)
            assert evals(read_logs(tmp_path))[(tmp_path.name, "eval/f1")].keys() == steps

    def test_files_go_by_their_times_not_their_names(self, tmp_path):
        event = log_writers.event
        self.write(tmp_path / "events.out.tfevents.b", event(1, {"eval/f1": 0.1}, time=1e9))
        self.write(tmp_path / "events.out.tfevents.a", event(2, {"eval/f1": 0.2}, time=2e9))
        assert read_logs(tmp_path).warnings == []

    def test_each_folder_is_a_run(self, tmp_path):
        for name in ("a", "b/c"):
            records = [log_writers.event(s, {"eval/f1": 0.5}) for s in (1, 2)]
            self.write(tmp_path / name / "events.out.tfevents.1.a", *records)
        assert [c.run for c in read_logs(tmp_path).curves] == ["a", "b/c"]

    def test_a_damaged_record_is_left_out(self, tmp_path):
        records = [log_writers.event(s, {"eval/f1": s / 10}) for s in (1, 2, 3)]
        broken = bytearray(records[1])
        broken[-8] ^= 1
        self.write(tmp_path / "events.out.tfevents.1.a", records[0], bytes(broken), records[2])
        reading = read_logs(tmp_path)
        assert evals(reading) == {(tmp_path.name, "eval/f1"): {1: 0.1, 3: 0.3}}
        assert "damaged" in reading.warnings[0]

    def test_zeros_at_the_end_are_said(self, tmp_path):
        records = [log_writers.event(s, {"eval/f1": s / 10}) for s in (1, 2)]
        self.write(tmp_path / "events.out.tfevents.1.a", *records, bytes(64))
        reading = read_logs(tmp_path)
        assert len(evals(reading)[(tmp_path.name, "eval/f1")]) == 2
        assert "damaged" in reading.warnings[0]

    def test_evals_on_a_counter_of_epochs_are_no_restart(self, tmp_path):
        records = []
        for epoch in range(3):
            records += [log_writers.event(epoch * 100 + s, {"train/loss": 1.0}) for s in (0, 50)]
            records.append(log_writers.event(epoch, {"val/acc": epoch / 10}))
        self.write(tmp_path / "events.out.tfevents.1.a", *records)
        reading = read_logs(tmp_path)
        assert evals(reading) == {(tmp_path.name, "val/acc"): {0: 0.0, 1: 0.1, 2: 0.2}}
        assert reading.warnings == []


class TestArrays:
    def test_evaluations_of_stable_baselines(self, tmp_path):
        results = np.array([[500.0] * 4, [1, 2, 3, np.nan]])
        np.savez(
            tmp_path / "evaluations.npz",
            timesteps=[100, 200],
            results=results,
            ep_lengths=np.ones((2, 4)),
            successes=[[True] * 4, [False, True] * 2],
        )
        reading = read_logs(tmp_path)
        curves = {c.metric: c for c in reading.curves}
        assert list(curves) == ["results", "successes"]
        assert curves["results"].values.tolist() == [500, 2]
        assert curves["results"].n.tolist() == [4, 3]
        assert curves["results"].stderr[0] == 0
        assert curves["successes"].values.tolist() == [1, 0.5]
        assert all(c.higher_is_better for c in reading.curves)

    def test_named_columns(self, tmp_path):
        table = np.array([(1, 0.5), (2, 0.25)], dtype=[("step", "i4"), ("eval_x", "f8")])
        np.save(tmp_path / "a.npy", table)
        assert evals(read_logs(tmp_path / "a.npy")) == {("a", "eval_x"): {1: 0.5, 2: 0.25}}

    def test_two_axes_without_names_are_refused(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros((3, 4)))
        with pytest.raises(UserError, match="does not tell its axes"):
            read_logs(tmp_path / "a.npy")

    @pytest.mark.parametrize("name", ["a.npy", "a.npz"])
    def test_objects_are_pickles_and_refused(self, tmp_path, name):
        path, marker = tmp_path / name, tmp_path / "loaded"

        class Harmful:
            def __reduce__(self):
                return os.mkdir, (str(marker),)

        array = np.array([Harmful()], dtype=object)
        if name.endswith("y"):
            np.save(path, array)
        else:
            np.savez(path, timesteps=[1], results=array)
        with pytest.raises(UserError, match="holds a pickle"):
            read_logs(path)
        assert not marker.exists()

    def test_an_archive_that_expands_is_refused_by_its_header(self, tmp_path):
        np.savez_compressed(tmp_path / "a.npz", timesteps=np.zeros(20_000_000))
        assert (tmp_path / "a.npz").stat().st_size < 1_000_000
        with pytest.raises(UserError, match="too large"):
            read_logs(tmp_path / "a.npz")

    def test_a_cut_file(self, tmp_path):
        np.save(tmp_path / "a.npy", np.arange(9.0))
        (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-4])
        with pytest.raises(UserError, match="truncated"):
            read_logs(tmp_path / "a.npy")


class TestOthers:
    @pytest.mark.parametrize(
        "document",
        [
            {"a": {"eval_x": {"20": 2, "100": 3}}},
            {"a": {"100": {"eval_x": 3}, "20": {"eval_x": 2}}},
            {"a": {"step": [20, 100], "eval_x": [2, 3]}},
            {"a": {"step": {"0": 20, "1": 100}, "eval_x": {"0": 2, "1": 3}}},
            {"a": [{"step": 20, "eval_x": 2}, {"step": 100, "eval_x": 3}]},
        ],
    )
    def test_json_by_run_step_and_metric_in_any_nesting(self, tmp_path, document):
        for name, told in (("runs.json", document), ("a.json", document["a"])):
            path = tmp_path / name
            path.write_text(json.dumps(told))
            assert evals(read_logs(path)) == {("a", "eval_x"): {20: 2, 100: 3}}

    def test_keras_history(self, tmp_path):
        path = tmp_path / "a.json"
        path.write_text(json.dumps({"loss": [3, 2, 1], "val_loss": [3, 2, 2.5]}))
        assert evals(read_logs(path)) == {("a", "val_loss"): {0: 3, 1: 2, 2: 2.5}}

    def test_records_in_long_form(self, tmp_path):
        rows = [{"metric": "eval_x", "value": 1, "step": 1}, {"tag": "loss", "value": 1, "step": 1}]
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert evals(read_logs(path)) == {("a", "eval_x"): {1: 1}}

    def test_console_numbers_in_quotes_and_wrappers(self, tmp_path):
        path = tmp_path / "a.log"
        path.write_text(
            "{'eval_reward': '0.5', 'epoch': '0.1'}\r 10%| 1/10\r 20%| 2/10"
            "{'eval_reward': np.float64(0.6), 'epoch': 0.2}\n{'eval_reward': nan, 'epoch': 0.3}\n"
            "{'train_runtime': 3.0, 'train_loss': 1.0, 'epoch': 0.3}\n{'eval_rew"
        )
        reading = read_logs(path)
        assert reading.curves[0].values.tolist()[:2] == [0.5, 0.6]
        assert reading.curves[0].nonfinite == ((0.3, "nan"),)
        assert [c.metric for c in reading.curves] == ["eval_reward"]
        assert any("incomplete" in w for w in reading.warnings)

    def test_a_chart_whose_axis_is_a_time_uses_each_runs_counter(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text('"Relative Time","R - _step","R - val_x"\n"1.5","10","1"\n"2.5","20","2"\n')
        assert evals(read_logs(path)) == {("R", "val_x"): {10: 1, 20: 2}}

    def test_a_model_card_evaluates_all_but_its_training(self, tmp_path):
        path = tmp_path / "a.md"
        path.write_text(
            "| Training Loss | Step | Validation Loss | Rewards/margins |\n|:-:|:-:|:-:|:-:|\n"
            "| No log | 1 | .5 | .1 |\n| .4 | 2 | .4 | .2 |\n"
        )
        curves = read_logs(path).curves
        told = {(c.metric, c.role, c.higher_is_better) for c in curves}
        assert told == {
            ("Training Loss", "train_loss", None),
            ("Validation Loss", "eval", False),
            ("Rewards/margins", "eval", True),
        }
