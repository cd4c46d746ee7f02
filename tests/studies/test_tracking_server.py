"""A real server of MLflow: what it tells over REST, what it shows, how it starts and ends."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from made_results import made_results
from tracking_tools import ask, experiments, get, run, runs_of, start, tags, ui, wait_for

from evalstop.cli import main
from evalstop.studies.tracking import track

N_TOP, N_POINTS = 3, 6


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Give a folder with a store in which one study is tracked."""
    here = tmp_path_factory.mktemp("server")
    made_results(here / "made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{here}/mlflow.db")
        track(here / "made")
    return here


def test_a_server_from_start_to_end(here, tmp_path, monkeypatch, capsys):
    """One server for all that it has to do: it takes seconds to start."""
    with ui(f"sqlite:///{here}/mlflow.db", cwd=here) as (process, lines, address):
        the_link_opens_the_charts(address, lines)
        rest_tells_all_that_was_sent(address)
        the_leaderboard_sorts_by_what_matters(address)
        results_go_to_a_server_too(address, tmp_path, monkeypatch, capsys)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "stopped\n")
        assert err == "note: MLflow takes some seconds to start\n"
        assert is_free(address)
    assert not (here / "mlruns").exists()
    assert not (here / "mlartifacts").exists()


def is_free(address):
    """Tell whether nobody answers at an address of this machine any more."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(address.rpartition(":")[2]))) != 0


def the_link_opens_the_charts(address, lines):
    number = experiments(address)["made"]
    link = f"{address}/#/experiments/{number}/runs?workflowType=machine_learning"
    assert lines == [
        f"MLflow is at {address}; charts of each study:",
        "  made: Is it tracked?",
        f"    {link}&compareRunsMode=CHART",
        "Ctrl-C stops it.",
    ]
    page = get(f"{address}/").decode()
    assert '<div id="root"' in page
    scripts = re.findall(r'src="([^"]+\.js)"', page)
    assert scripts
    assert all(len(get(f"{address}/{script}")) > 1000 for script in scripts)


def rest_tells_all_that_was_sent(address):
    found = runs_of(address, experiments(address)["made"])
    assert len(found) == N_TOP + N_POINTS
    assert {r["info"]["status"] for r in found} == {"FINISHED"}
    tops = [r for r in found if "mlflow.parentRunId" not in tags(r)]
    names = ["k-decline", "drawdown", "ewma-drawdown:weight=0.7"]
    assert [r["info"]["run_name"] for r in tops] == names
    params = {p["key"]: p["value"] for p in tops[2]["data"]["params"]}
    assert params["weight"] == "0.7"
    assert {"world", "seed", "schema", "numpy", "mlflow.note.content"} <= set(tags(tops[0]))
    metrics = {m["key"] for m in tops[0]["data"]["metrics"]}
    assert len(metrics) < 30
    assert metrics >= {"roc/tpr_at_fpr_permille", "noise/saved_at_sigma_permille", "summary/saved"}
    assert report_of(address, tops[0]) == b"<h1>A report</h1>"


def report_of(address, found):
    return get(f"{address}/get-artifact?path=report.html&run_uuid={found['info']['run_id']}")


def the_leaderboard_sorts_by_what_matters(address):
    """The view that is kept with the experiment holds a filter and an order that MLflow takes."""
    told = ask(address, "experiments/search", max_results=1, filter="name = 'made'")
    (experiment,) = told["experiments"]
    kept = {tag["key"]: tag["value"] for tag in experiment["tags"]}
    view = json.loads(kept["mlflow.sharedViewState.leaderboard"])
    assert json.loads(view["state"]).items() <= view.items()
    order = f"{view['orderByKey']} {'ASC' if view['orderByAsc'] else 'DESC'}"
    question = {"filter": view["searchFilter"], "order_by": [order]}
    question["experiment_ids"] = [experiment["experiment_id"]]
    saved = [
        {m["key"]: m["value"] for m in r["data"]["metrics"]}["summary/saved"]
        for r in ask(address, "runs/search", **question)["runs"]
    ]
    assert len(saved) == N_TOP
    assert saved == sorted(saved, reverse=True)


def results_go_to_a_server_too(address, tmp_path, monkeypatch, capsys):
    made_results(tmp_path / "far", seed=3, name="far")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    for what in (f"{N_TOP + N_POINTS} of", "nothing new of"):
        assert main(["track", str(tmp_path / "far")]) == 0
        printed = capsys.readouterr()
        assert not printed.out
        assert printed.err.count("\n") == 1
        assert f"far: {what} {N_TOP + N_POINTS} runs in experiment far of {address}" in printed.err
    number = experiments(address)["far"]
    link = f"{address}/#/experiments/{number}/runs?"
    assert link in printed.err
    found = runs_of(address, number)
    assert len(found) == N_TOP + N_POINTS
    assert report_of(address, found[0]) == b"<h1>A report</h1>"
    assert main(["ui"]) == 0
    assert link in capsys.readouterr().out


@pytest.mark.slow
def test_the_end_of_its_terminal_ends_it(here):
    with ui(f"sqlite:///{here}/mlflow.db", cwd=here) as (process, _, address):
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=60)
        assert is_free(address)


def test_a_taken_port_is_one_line(here, monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{here}/mlflow.db")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["ui", "--port", str(port)]) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.startswith(f"error: port {port}: cannot be used (Address already in use)")
    assert printed.err.count("\n") == 1


def test_a_missing_store_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert main(["ui"]) == 2
    printed = capsys.readouterr()
    assert printed.err == (
        "error: evalstop-out/mlflow.db: there is no such store yet, track something first: "
        "evalstop study noise --smoke\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_gone_is_one_line(monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert main(["ui"]) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.startswith("error: http://127.0.0.1:9: MLflow does not answer")


@pytest.mark.slow
def test_a_browser_shows_all_curves_without_a_click(here, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if browser is None:
        pytest.skip("no browser here: install Debian's package chromium")
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += [f"--user-data-dir={tmp_path}", "--window-size=1440,3000"]
    command += ["--virtual-time-budget=240000", "--dump-dom"]
    with ui(f"sqlite:///{here}/mlflow.db", cwd=here) as (_, lines, _):
        link = next(lines[i + 1] for i, line in enumerate(lines) if line.startswith("  made:"))
        page = subprocess.run(
            [*command, link.strip()], capture_output=True, text=True, timeout=240, check=True
        ).stdout
    for words in ("k-decline", "drawdown", "ewma-drawdown:weight=0.7", "Is it tracked?"):
        assert words in page
    for chart in (
        *("roc/tpr_at_fpr_permille", "noise/saved_at_sigma_permille", "summary/saved"),
        *("noise/recall_at_sigma_permille", "noise/fpr_healthy_at_sigma_permille"),
    ):
        assert chart in page, chart
    n_lines = len(re.findall(r'class="[^"]*js-line', page))
    assert n_lines >= 4 * N_TOP  # three sweeps and the ROC, a line for each detector


POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@pytest.fixture
def postgres(tmp_path_factory):
    """Start a database server of our own, as a user without rights; give its address."""
    pytest.importorskip("psycopg2", reason="no psycopg2 here: pip install psycopg2-binary")
    if not POSTGRES:
        pytest.skip("no PostgreSQL here: install Debian's package postgresql")
    as_user = []
    if os.geteuid() == 0:
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL refuses to run as root, and there is no runuser")
        as_user = ["runuser", "-u", "nobody", "--"]
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    if as_user:
        shutil.chown(folder, "nobody")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    init = [POSTGRES[-1] / "initdb", "-D", data, "-U", "me", "--auth=trust", "--no-sync"]
    subprocess.run([*as_user, *init], check=True, capture_output=True, cwd=folder)
    serve = [POSTGRES[-1] / "postgres", "-D", data, "-k", folder, "-h", "127.0.0.1"]
    process = subprocess.Popen(
        [*as_user, *serve, "-p", str(port)], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    ready = [POSTGRES[-1] / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
    try:
        wait_for(lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0)
        yield f"postgresql://me:secret@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run(
            [*as_user, POSTGRES[-1] / "pg_ctl", "-D", data, "-m", "fast", "stop"],
            check=False,
            capture_output=True,
            cwd=folder,
        )
        process.communicate(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_a_postgresql_store(postgres, tmp_path):
    """Two processes send to a new database, one of them is killed; then a server shows it."""
    made_results(tmp_path / "made", axes={"sigma": tuple(i / 100 for i in range(40))})
    made_results(tmp_path / "other", seed=1, name="other")
    killed = start(["track", tmp_path / "made"], postgres, cwd=tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        killed.communicate(timeout=8)
    killed.kill()
    killed.communicate()
    processes = [
        start(["track", tmp_path / name], postgres, cwd=tmp_path) for name in ("made", "other")
    ]
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert "secret" not in err
    code, _, err = run(["track", tmp_path / "made"], postgres, cwd=tmp_path)
    assert code == 0
    assert "nothing new of 123 runs" in err[0]
    with ui(postgres, cwd=tmp_path) as (_, lines, address):
        assert f"MLflow is at {address}; charts of each study:" in lines
        found = runs_of(address, experiments(address)["made"])
        assert len({tags(r)["evalstop.key"] for r in found}) == len(found) == 123
        assert {r["info"]["status"] for r in found} == {"FINISHED"}
        assert report_of(address, found[0]) == b"<h1>A report</h1>"
