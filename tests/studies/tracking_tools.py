"""A store for tests, and a server of its own for each module that asks for one."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

COMMAND = [sys.executable, "-m", "evalstop"]


def start(args, uri, **options):
    """Start a command on a store, in a process group of its own."""
    return subprocess.Popen(
        [*COMMAND, *map(str, args)],
        env=os.environ | {"MLFLOW_TRACKING_URI": uri},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests that run in the background ignore Ctrl-C, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


def run(args, uri, **options):
    """Run a command on a store; give its status, what it printed, and its lines on stderr."""
    process = start(args, uri, **options)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err.splitlines()


def get(url):
    """Read a page of this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=60) as response:
        return response.read()


def ask(address, what, **question):
    """Ask MLflow's REST interface."""
    request = urllib.request.Request(
        f"{address}/api/2.0/mlflow/{what}",
        json.dumps(question).encode(),
        {"Content-Type": "application/json"},
    )
    return json.loads(get(request))


def runs_of(address, experiment):
    """Give all runs of an experiment as the server tells them."""
    found, token = [], None
    while token != "":
        told = ask(
            address,
            "runs/search",
            experiment_ids=[experiment],
            max_results=500,
            **({"page_token": token} if token else {}),
        )
        found += told.get("runs", [])
        token = told.get("next_page_token", "")
    return found


def experiments(address):
    """Give the ids of the experiments by their names."""
    told = ask(address, "experiments/search", max_results=100)
    return {e["name"]: e["experiment_id"] for e in told["experiments"]}


def tags(run):
    return {tag["key"]: tag["value"] for tag in run["data"].get("tags", [])}


@contextmanager
def ui(uri, **options):
    """Run ``evalstop ui`` on a free port; give its process, its lines and its address."""
    process = start(["ui", "--port", "0"], uri, **options)
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if "Ctrl-C" in line:
                break
        assert lines, process.stderr.read()
        yield process, lines, re.search(r"http://127\.0\.0\.1:\d+", lines[0])[0]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
