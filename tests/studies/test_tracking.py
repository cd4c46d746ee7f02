"""Sending results to MLflow: whole, never twice, one writer at a time, and no failure costs any."""

import collections
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from made_results import made_results
from tracking_tools import run, start

from evalstop.cli import main
from evalstop.errors import UserError
from evalstop.studies.tracking import track
from evalstop.studies.tracking.client import client

N_TOP, N_POINTS = 3, 6


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """Make one store with its tables, to be copied."""
    file = tmp_path_factory.mktemp("empty") / "mlflow.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{file}")
        with client() as to:
            to.search_experiments()
    return file


@pytest.fixture
def store(empty, tmp_path, monkeypatch):
    """Give the URI of a store of its own."""
    file = tmp_path / "mlflow.db"
    shutil.copy(empty, file)
    uri = f"sqlite:///{file}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    return uri


@pytest.fixture
def folder(tmp_path):
    made_results(tmp_path / "made")
    return tmp_path / "made"


def runs(name="made"):
    with client() as to:
        experiment = to.get_experiment_by_name(name)
        return list(to.search_runs([experiment.experiment_id], max_results=1000))


def told(found):
    """Give everything that matters of runs, by their keys; a key that is there twice fails."""
    keys = collections.Counter(r.data.tags["evalstop.key"] for r in found)
    assert set(keys.values()) == {1}
    assert {r.info.status for r in found} == {"FINISHED"}
    return {
        r.data.tags["evalstop.key"]: (r.data.metrics, r.data.params, r.info.run_name) for r in found
    }


def test_everything_is_there_once(store, folder):
    counts = []
    sent = track(folder, lambda done, total: counts.append((done, total)))
    assert (sent.experiment, sent.runs, sent.new) == ("made", N_TOP + N_POINTS, N_TOP + N_POINTS)
    assert counts == [(i, N_TOP + N_POINTS) for i in range(N_TOP + N_POINTS + 1)]
    first = told(runs())
    assert len(first) == N_TOP + N_POINTS
    again = track(folder)
    assert (again.link, again.runs, again.new) == (sent.link, sent.runs, 0)
    assert told(runs()) == first


def test_top_level_runs_come_first_in_the_order_of_the_study(store, folder):
    track(folder)
    found = runs()  # as MLflow's page lists them: those started last first
    names = ["k-decline", "drawdown", "ewma-drawdown:weight=0.7"]
    assert [r.info.run_name for r in found[:N_TOP]] == names
    assert not any("mlflow.parentRunId" in r.data.tags for r in found[:N_TOP])
    ids = {r.info.run_id for r in found[:N_TOP]}
    children = collections.Counter(r.data.tags["mlflow.parentRunId"] for r in found[N_TOP:])
    assert set(children) == ids
    assert set(children.values()) == {2}
    assert [r.info.run_name for r in found[N_TOP:]] == ["sigma=0.01", "sigma=0.12"] * N_TOP
    assert len({r.data.tags["mlflow.runColor"] for r in found[:N_TOP]}) == N_TOP
    assert "Is it tracked?" in found[0].data.tags["mlflow.note.content"]


def test_curves_have_one_value_at_each_step(store, folder):
    track(folder)
    track(folder)
    first = runs()[0].info.run_id
    with client() as to:
        history = to.get_metric_history(first, "roc/tpr_at_fpr_permille")
    assert [m.step for m in history] == [1, 15, 500]


def test_files_are_artifacts_also_those_that_come_later(store, folder, tmp_path):
    track(folder)
    (folder / "report.html").write_text("<h1>A longer report</h1>")
    (folder / "late.png").write_bytes(b"\x89PNG")
    track(folder)
    tops = runs()[:N_TOP]
    with client() as to:
        for found in tops:
            there = {f.path for f in to.list_artifacts(found.info.run_id)}
            assert there == {
                *("report.html", "saved.svg", "findings.txt", "late.png", "results.parquet")
            }
        page = to.download_artifacts(found.info.run_id, "report.html", str(tmp_path))
    assert "longer" in Path(page).read_text()


def test_the_experiment_says_what_was_found(store, folder):
    track(folder)
    with client() as to:
        experiment = to.get_experiment_by_name("made")
    assert (
        experiment.tags["mlflow.note.content"] == "Is it tracked?\n\n- k=2 is fine\n- at low noise"
    )
    assert (
        '"orderByKey": "metrics.`summary/saved`"'
        in experiment.tags["mlflow.sharedViewState.leaderboard"]
    )


def test_other_numbers_are_another_experiment(store, folder, tmp_path):
    track(folder)
    made_results(tmp_path / "other", seed=1)
    assert track(tmp_path / "other").experiment == "made (2)"
    assert track(folder).new == 0
    with client() as to:
        to.delete_experiment(to.get_experiment_by_name("made").experiment_id)
    assert track(folder).experiment == "made (3)"  # MLflow keeps the name of what was deleted
    assert len(told(runs("made (3)"))) == N_TOP + N_POINTS


class KilledError(Exception):
    pass


@pytest.mark.parametrize(
    ("call", "after"),
    [
        *(("create_run", 0), ("create_run", 4), ("log_batch", 0), ("log_batch", 5)),
        *(("set_terminated", 1), ("set_terminated", 8), ("log_artifact", 1)),
    ],
)
def test_a_failure_at_any_point_is_mended_by_sending_again(store, folder, monkeypatch, call, after):
    from mlflow import MlflowClient

    whole = getattr(MlflowClient, call)
    left = [after]

    def failing(*args, **options):
        if not left[0]:
            raise KilledError("the disk is full")
        left[0] -= 1
        return whole(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, call, failing)
        with pytest.raises(UserError, match=r"mlflow.db: KilledError: the disk is full"):
            track(folder)
    made_results(folder)  # computed again meanwhile: the same, but newer files
    os.utime(folder / "study.json", (2e9, 2e9))
    sent = track(folder)
    assert sent.new > 0
    assert len(told(runs())) == sent.runs == N_TOP + N_POINTS
    tops = [r for r in runs() if r.data.tags["evalstop.kind"] == "detector"]
    with client() as to:
        history = to.get_metric_history(tops[0].info.run_id, "roc/tpr_at_fpr_permille")
        assert len(history) == 3
        assert all(len(to.list_artifacts(t.info.run_id)) == 4 for t in tops)


def test_nobody_hears_mlflow(store, folder):
    code, out, err = run(["track", folder], store)
    assert (code, out) == (0, "")
    assert err == [
        f"tracked: {folder}: {N_TOP + N_POINTS} of {N_TOP + N_POINTS} runs in experiment made of "
        f"{store.removeprefix('sqlite:///')}; `evalstop ui` shows it"
    ]


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_nothing(tmp_path):
    """The store is new: its making is killed too."""
    made_results(tmp_path / "made", axes={"sigma": tuple(i / 100 for i in range(40))})
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    kills = 0
    for seconds in (2, 3, 4, 5, 6, 7, 8, 10, 12):
        process = start(["track", tmp_path / "made"], uri)
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
    assert kills >= 2
    code, _, err = run(["track", tmp_path / "made"], uri)
    assert code == 0, err
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        assert len(told(runs())) == 3 + 3 * 40
    assert not list(tmp_path.glob(".mlflow.db.*"))


@pytest.mark.slow
def test_processes_share_a_new_store(tmp_path):
    """Two send the same results, one others; the store is made by whoever comes first."""
    made_results(tmp_path / "made")
    made_results(tmp_path / "other", seed=1, name="other")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    names = ("made", "made", "other")
    processes = [start(["track", tmp_path / name], uri) for name in names]
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        assert len(told(runs("made"))) == len(told(runs("other"))) == N_TOP + N_POINTS


def test_one_process_at_a_time(store, folder):
    """A second one waits for the first, and goes on as soon as that is killed."""
    code = (
        "import sys, time\n"
        "from evalstop.studies.tracking.client import _one_at_a_time\n"
        "with _one_at_a_time(sys.argv[1]):\n    print('mine', flush=True)\n    time.sleep(600)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, store], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "mine\n"
        began = time.monotonic()
        threading.Timer(1.0, holder.kill).start()
        assert track(folder).new == N_TOP + N_POINTS
        assert time.monotonic() - began >= 1.0
    finally:
        holder.kill()
        holder.communicate()


def test_a_study_is_tracked_unless_it_is_asked_not_to(store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(
        'worlds = ["paper"]\ndetectors = ["k-decline", "drawdown"]\nthresholds = '
        '["matched:fpr=0.1"]\nruns = 200\nseeds = 2\naxes.sigma = [0.02, 0.05]\n'
    )
    assert main(["study", "mine.toml", "--jobs", "1", "--no-track"]) == 0
    assert not capsys.readouterr().err
    assert main(["study", "mine.toml", "--jobs", "1"]) == 0
    assert capsys.readouterr().err == (
        "tracked: evalstop-out/mine: 6 of 6 runs in experiment mine of mlflow.db; "
        "`evalstop ui` shows it\n"
    )
    assert main(["track", "evalstop-out"]) == 0
    assert "nothing new of 6 runs" in capsys.readouterr().err


def test_a_comparison_is_tracked_if_it_is_asked_to(store, tmp_path, monkeypatch, capsys):
    example = str(Path(__file__).parents[2] / "docs" / "examples" / "curves.csv")
    few = ["--labels", "label", "--detectors", "k-decline:k=2,drawdown"]
    assert main(["compare", example, *few, "--out", str(tmp_path / "o")]) == 0
    assert "tracked: " not in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    assert main(["compare", example, *few, "--track"]) == 0
    assert "runs in experiment compare of mlflow.db" in capsys.readouterr().err
    found = {r.info.run_name: r for r in runs("compare")}
    assert {"k-decline @ natural", "drawdown @ matched:fpr=0.015"} <= set(found)
    assert found["k-decline @ natural"].data.params["k"] == "2"
    assert found["drawdown @ matched:fpr=0.015"].data.metrics["roc/tpr_at_fpr_permille"] > 0.5


FAILURES = {
    "http://127.0.0.1:9": "nobody answers there",
    "postgresql://me:secret@127.0.0.1:9/db": "me:***@127.0.0.1:9/db: nobody answers there",
    "http://127.0.0.1:x": "is no address",
    "./mlruns": "MLflow no longer writes to folders",
    "file:///tmp/mlruns": "MLflow no longer writes to folders",
}


@pytest.mark.parametrize("uri", FAILURES)
def test_a_store_that_cannot_be_used_is_one_line(tmp_path, folder, monkeypatch, capsys, uri):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert main(["track", str(folder)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert FAILURES[uri] in err


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        ("UPDATE alembic_version SET version_num = 'ffffffffffff'", "by a newer MLflow"),
        ("UPDATE alembic_version SET version_num = '451aebb31d03'", "mlflow db upgrade"),
        ("DROP TABLE alembic_version", "is no store of MLflow"),
        (None, "is no store of MLflow"),
    ],
)
def test_a_store_of_another_version_is_one_line(store, folder, capsys, spoil, says):
    file = store.removeprefix("sqlite:///")
    if spoil is None:
        Path(file).write_text("no database at all, and long enough to be one\n" * 100)
    else:
        with sqlite3.connect(file) as database:
            database.execute(spoil)
        database.close()
    assert main(["track", str(folder)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert says in err


def test_a_failure_costs_no_result(tmp_path, monkeypatch, capsys):
    from evalstop.commands import tracked

    made_results(tmp_path / "made")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    tracked.send(tmp_path / "made")
    err = capsys.readouterr().err
    assert err.startswith("warning: not tracked: http://127.0.0.1:9: nobody answers there")
    assert err.endswith(f"; `evalstop track {tmp_path / 'made'}` sends the results later\n")
    assert err.count("\n") == 1


def test_ctrl_c_says_how_to_go_on(store, folder, monkeypatch, capsys):
    from mlflow import MlflowClient

    from evalstop.commands import tracked

    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_batch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            tracked.send(folder)
    err = capsys.readouterr().err
    assert err == f"warning: not all is tracked; `evalstop track {folder}` sends the rest\n"
    assert track(folder).new == N_TOP + N_POINTS
    assert len(told(runs())) == N_TOP + N_POINTS


def test_the_python_in_the_docs_makes_what_can_be_tracked(store, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "mlflow.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    assert track(Path("evalstop-out/mine")).new == 2
    assert [r.data.metrics for r in runs("mine")] == [
        {"summary/saved": 0.21},
        {"summary/saved": 0.35},
    ]
