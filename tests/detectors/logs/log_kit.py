"""Hold a reading against a case of the kit: ``<log>.expected.json`` beside the log."""

import json
import math
import re
from pathlib import Path

from evalstop.detectors.logs import Curve, Reading

TELLS = {True: "higher", False: "lower", None: None}


def load(expected: Path) -> tuple[Path, dict]:
    """Give the log of a case and what is expected of it."""
    log = expected.with_name(expected.name.removesuffix(".expected.json"))
    return log, json.loads(expected.read_text(encoding="utf-8"))


def same(want, got) -> bool:
    """Compare numbers; None = missing."""
    if want is None or math.isnan(got):
        return want is None and math.isnan(got)
    return math.isclose(want, got, rel_tol=1e-6, abs_tol=1e-9)


def all_same(want, got) -> bool:
    """Compare lists of numbers."""
    return len(want) == len(got) and all(map(same, want, got))


def differences(want: dict, reading: Reading) -> list[str]:
    """Say what differs."""
    wrong, left = [], [c for c in reading.curves if c.role == "eval"]
    for told in want["curves"]:
        found = [c for c in left if c.metric in {told["metric"], *told.get("metric_ok", [])}]
        if told["run_from"] != "folder":
            found = [c for c in found if c.run in {told["run"], *told.get("run_ok", [])}]
        if not found:
            wrong.append(f"no {told['run']}/{told['metric']}: {[(c.run, c.metric) for c in left]}")
            continue
        left.remove(found[0])
        wrong += curve_differs(told, found[0])
    optional = {o if isinstance(o, str) else o["metric"] for o in want["optional"]}
    wrong += [f"unexpected {c.run}/{c.metric}" for c in left if c.metric not in optional]
    ignored = [c.metric for c in reading.curves if c.metric in want["ignored"]]
    wrong += [f"{name} is no curve" for name in ignored]
    return wrong + signals_differ(want, reading) + warnings_differ(want, reading)


def curve_differs(want: dict, got: Curve) -> list[str]:
    """Say what differs in one curve."""
    wrong = []
    if not all_same(want["steps"], got.steps):
        wrong.append(f"{got.metric}: steps {got.steps}")
    if not all_same(want["values"], got.values):
        wrong.append(f"{got.metric}: values {got.values}")
    if want["stderr"] is None and got.stderr is not None:
        wrong.append(f"{got.metric}: stderr {got.stderr}")
    for want_one, got_one in zip(
        want["stderr"] or (), () if got.stderr is None else got.stderr, strict=False
    ):
        if want_one is not None and not same(want_one, got_one):
            wrong.append(f"{got.metric}: stderr {got_one} instead of {want_one}")
    for want_n, got_n in zip(want["n"] or (), () if got.n is None else got.n, strict=False):
        if want_n not in (None, got_n):
            wrong.append(f"{got.metric}: n {got_n} instead of {want_n}")
    if TELLS[got.higher_is_better] not in want["direction_ok"]:
        wrong.append(f"{got.metric}: direction {got.higher_is_better}")
    told = [{"step": step, "value": sign} for step, sign in got.nonfinite]
    if told != want.get("nonfinite", []):
        wrong.append(f"{got.metric}: nonfinite {told}")
    return wrong


def signals_differ(want: dict, reading: Reading) -> list[str]:
    """Say which signals are not there."""
    wrong = []
    for told in want["signals"]:
        found = [c for c in reading.curves if (c.metric, c.role) == (told["metric"], told["role"])]
        ends = [
            (len(c.steps), [c.steps[0], c.values[0]], [c.steps[-1], c.values[-1]]) for c in found
        ]
        if not any(
            n == told["points"] and all_same(told["first"], first) and all_same(told["last"], last)
            for n, first, last in ends
        ):
            wrong.append(f"signal {told}: {ends}")
    return wrong


def warnings_differ(want: dict, reading: Reading) -> list[str]:
    """Say which warnings are missing or too many; notes are free, but due ones must be there."""
    due = [w["match"] for w in want["warnings"] if w["level"] == "warning"]
    noted = [w["match"] for w in want["warnings"] if w["level"] == "note"]
    wrong = [f"no warning {m}" for m in due if not any(re.search(m, w) for w in reading.warnings)]
    wrong += [f"no note {m}" for m in noted if not any(re.search(m, n) for n in reading.notes)]
    extra = [w for w in reading.warnings if not any(re.search(m, w) for m in due)]
    return wrong + [f"a warning where none is due: {w}" for w in extra]
