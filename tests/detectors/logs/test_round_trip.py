"""The same curves in every format; the order of rows, copies of them and junk change nothing."""

import json
import math
import random
import tempfile
import unicodedata
from pathlib import Path

import log_writers
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstop.detectors.logs import read_logs, tidy_csv
from evalstop.detectors.logs.curve import Curve, Reading
from evalstop.detectors.observation import LARGEST

FEW = settings(max_examples=40)  # each of them writes and reads files
METRICS = ("eval_acc", "eval/loss", "val-core/x/acc/mean@1", "eval_точность")
STEPS = st.floats(allow_nan=False, allow_infinity=False, width=64)
FINITE = st.floats(-LARGEST, LARGEST, width=64)
POINTS = st.dictionaries(st.integers(0, 10**9), FINITE, min_size=2, max_size=8)
CURVES = st.dictionaries(st.sampled_from(METRICS), POINTS, min_size=1, max_size=3).map(
    lambda curves: {m: dict(sorted(points.items())) for m, points in curves.items()}
)


def told(reading: Reading) -> dict:
    return {
        c.metric: dict(zip(c.steps.tolist(), c.values.tolist(), strict=True))
        for c in reading.curves
        if c.role == "eval"
    }


def read(write, curves, *change) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = write(curves, Path(folder) / "a")
        for each in change:
            each(path)
        return told(read_logs(path))


WRITERS = [
    log_writers.jsonl,
    log_writers.trainer_state,
    log_writers.by_step,
    log_writers.console,
    log_writers.table,
    log_writers.tidy,
    log_writers.markdown,
    log_writers.chart,
    log_writers.mlflow_files,
    log_writers.event_files,
]


@pytest.mark.parametrize("write", WRITERS, ids=lambda w: w.__name__)
@FEW
@given(curves=CURVES)
def test_every_format_gives_the_same_curves(write, curves):
    assert read(write, curves) == curves


@FEW
@given(curves=CURVES)
def test_arrays_say_nan_where_there_was_no_eval(curves):
    steps = {step for points in curves.values() for step in points}
    got = read(log_writers.arrays, curves)
    assert all(points.keys() == steps for points in got.values())
    finite = {m: {s: v for s, v in p.items() if not math.isnan(v)} for m, p in got.items()}
    assert finite == curves


@FEW
@given(curves=CURVES)
def test_semicolons_and_decimal_commas(curves):
    def write(curves, path):
        return log_writers.table(curves, path, delimiter=";", decimal=",")

    assert read(write, curves) == curves


def edit(change, keep_first=0):
    """Change the lines of a file, but for the first ones."""

    def apply(path: Path) -> None:
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:keep_first] + change(lines[keep_first:])))

    return apply


def shuffled(seed):
    return lambda lines: random.Random(seed).sample(lines, len(lines))


def doubled(lines):
    return [line for line in lines for _ in range(2)]


@FEW
@given(curves=CURVES, seed=st.integers(0, 100))
def test_tables_may_be_in_any_order(curves, seed):
    assert read(log_writers.tidy, curves, edit(shuffled(seed), keep_first=1)) == curves


@FEW
@given(curves=CURVES)
def test_doubled_rows_count_once(curves):
    assert read(log_writers.jsonl, curves, edit(doubled)) == curves
    assert read(log_writers.console, curves, edit(doubled)) == curves
    assert read(log_writers.table, curves, edit(doubled, keep_first=1)) == curves
    assert read(log_writers.tidy, curves, edit(doubled, keep_first=1)) == curves


@FEW
@given(curves=CURVES)
def test_a_log_written_twice_over_is_a_run_started_again(curves):
    assert read(log_writers.jsonl, curves, edit(lambda lines: lines * 2)) == curves
    assert read(log_writers.table, curves, edit(lambda lines: lines * 2)) == curves


JUNK = ["", "# a remark", "Traceback (most recent call last):", "{torn", "a;b|c", "=" * 70]


@FEW
@given(curves=CURVES, junk=st.lists(st.sampled_from(JUNK), max_size=4), seed=st.integers(0, 9))
def test_junk_between_rows_changes_nothing(curves, junk, seed):
    def mixed(lines):
        for text in junk:
            lines.insert(random.Random(seed).randrange(len(lines) + 1), text + "\n")
        return lines

    assert read(log_writers.jsonl, curves, edit(mixed, keep_first=2)) == curves
    assert read(log_writers.console, curves, edit(mixed)) == curves


@FEW
@given(curves=CURVES, cut=st.integers(1, 20), encoding=st.sampled_from(["utf-8-sig", "utf-16"]))
def test_byte_order_marks_and_windows_line_ends(curves, cut, encoding):
    def change(path: Path) -> None:
        text = path.read_text().replace("\n", "\r\n")
        path.write_bytes(text.encode(encoding))

    assert read(log_writers.jsonl, curves, change) == curves
    assert read(log_writers.table, curves, change) == curves


@FEW
@given(curves=CURVES, at=st.integers(0, 100))
def test_a_table_split_over_files_is_one(curves, at):
    with tempfile.TemporaryDirectory() as folder:
        whole = log_writers.tidy(curves, Path(folder) / "a")
        head, *lines = whole.read_text().splitlines(keepends=True)
        half = at % (len(lines) + 1)
        parts = [Path(folder) / "b.csv", Path(folder) / "c.csv"]
        parts[0].write_text(head + "".join(lines[:half]))
        parts[1].write_text(head + "".join(lines[half:]))
        assert told(read_logs(parts)) == curves
        assert told(read_logs(parts[::-1])) == curves


@FEW
@given(
    first=POINTS, second=POINTS, torn=st.booleans(), extra=st.dictionaries(st.integers(), FINITE)
)
def test_what_follows_a_restart_replaces_what_was_abandoned(first, second, torn, extra):
    begin = min(second)
    kept = {s: v for s, v in first.items() if s < begin}
    lines = [{"step": s, "eval_acc": v} for s, v in sorted(first.items())]
    lines += [{"step": s, "eval_acc": v} for s, v in sorted(second.items())]
    text = "".join(json.dumps(line) + "\n" for line in lines) + '{"step": 1, "eva' * torn
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text(text)
        reading = read_logs(path)
    if max(first) > begin:
        assert told(reading)["eval_acc"] == {**kept, **second}
        assert any("goes back" in warning for warning in reading.warnings)
    assert any("incomplete" in warning for warning in reading.warnings) == torn


NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
).map(lambda name: unicodedata.normalize("NFC", name))
VALUES = st.floats(width=64)


@FEW
@given(
    table=st.dictionaries(
        st.tuples(NAMES, NAMES, st.sampled_from(["eval", "train_loss", "signal"])),
        st.tuples(
            st.dictionaries(STEPS.map(lambda x: x + 0.0), VALUES, min_size=1, max_size=5),
            st.sampled_from([True, False, None]),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_printed_as_csv_reads_back_to_the_same_curves(table):
    curves = [Curve("first", "eval", "eval", None, np.array([1.0]), np.array([0.5]))]
    for (run, metric, role), (points, higher, with_errors) in table.items():
        steps = np.array(sorted(points))
        raw = np.array([points[s] for s in sorted(points)])
        finite = np.abs(raw) <= LARGEST
        values = np.where(finite, raw, np.nan)
        nonfinite = tuple(
            (s, str(v))
            for s, v in zip(steps.tolist(), raw.tolist(), strict=True)
            if not abs(v) <= LARGEST
        )
        errors = np.where(finite, 0.5, np.nan) if with_errors and finite.any() else None
        curves.append(Curve(run, metric, role, higher, steps, values, nonfinite, errors))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "curves.csv"
        path.write_text(tidy_csv(Reading(curves)), encoding="utf-8", newline="")
        back = read_logs(path)
    assert sorted(map(as_tuple, back.curves)) == sorted(map(as_tuple, curves))


def as_tuple(curve: Curve) -> tuple:
    errors = None if curve.stderr is None else [None if math.isnan(e) else e for e in curve.stderr]
    values = [None if math.isnan(v) else v for v in curve.values.tolist()]
    steps = curve.steps.tolist()
    told = (curve.run, curve.metric, curve.role, str(curve.higher_is_better))
    return (*told, str(steps), str(values), str(curve.nonfinite), str(errors))
