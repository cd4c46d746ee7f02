"""Files that are broken, huge or meant to harm: one clear line, bounded memory, nothing run."""

import gzip
import json
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstop.detectors.logs import channels_at, files, read_logs, tidy_csv
from evalstop.detectors.logs.formats import console
from evalstop.errors import UserError

KIT = Path(__file__).resolve().parents[2] / "data" / "logs"
OURS = (".expected.json", "README.md", "links.json")
FILES = sorted(p for p in KIT.rglob("*") if p.is_file() and not p.name.endswith(OURS))
MARKS = [mark.encode() for mark in "{}[],;|%'\"\n\r\0"]
WORDS = [b"nan", b"1e999", b"9" * 400, b"step", b"eval_", b"run", b"rank", b"\\ud800"]
TOKENS = [*MARKS, *WORDS, b"\xff", b"\xef\xbb\xbf"]
EDITS = st.lists(
    st.tuples(st.integers(0, 10**6), st.sampled_from(TOKENS), st.integers(0, 20)), max_size=6
)


@settings(max_examples=300)
@given(source=st.sampled_from(FILES), edits=EDITS, cut=st.integers(0, 10**6), growing=st.booleans())
def test_a_changed_file_reads_or_is_refused(tmp_path_factory, source, edits, cut, growing):
    data = bytearray(source.read_bytes())
    for place, token, length in edits:
        at = place % (len(data) + 1)
        data[at : at + length] = token
    if cut % 3 == 0:
        del data[cut % (len(data) + 1) :]
    path = tmp_path_factory.mktemp("x") / source.name
    path.write_bytes(data)
    try:
        reading = read_logs(path, growing=growing)
    except UserError as told:
        if str(path) not in str(told):
            raise
        return
    for curve in reading.curves:
        assert (curve.steps[1:] > curve.steps[:-1]).all()
        assert len(curve.values) == len(curve.steps) > 0
        assert set(channels_at(curve, reading)) <= {"loss", "proxy", "kl", "progress"}
    assert tidy_csv(reading)


class TestSizes:
    @pytest.fixture(autouse=True)
    def smaller(self, monkeypatch):
        monkeypatch.setattr(files, "MAX_LINE", 1 << 20)

    def test_a_huge_line_is_skipped_in_bounded_memory(self, tmp_path):
        path = tmp_path / "a.jsonl"
        with path.open("w") as file:
            file.write('{"step": 1, "eval_x": 1}\n{"step": 2, "text": "')
            for _ in range(30):
                file.write("x" * (1 << 20))
            file.write('"}\n{"step": 3, "eval_x": 3}\n')
        tracemalloc.start()
        reading = read_logs(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert reading.curves[0].steps.tolist() == [1, 3]
        assert "line 2 is longer than 1 MB (30 MB)" in reading.warnings[0]
        assert peak < 16 << 20

    @pytest.mark.parametrize("start", ["", "{", "[", "step,eval_x\n", "{'loss': 1, 'epoch': 1}\n"])
    def test_a_line_without_end(self, tmp_path, start):
        path = tmp_path / "a.log"
        path.write_text(start + "x" * (4 << 20))
        with pytest.raises(UserError):
            read_logs(path)

    def test_a_huge_document_is_refused_unread(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "MAX_DOCUMENT", 1 << 20)
        path = tmp_path / "a.json"
        path.write_text(json.dumps([{"step": i, "eval_x": 1} for i in range(60_000)]))
        with pytest.raises(UserError, match="too large"):
            read_logs(path)

    def test_a_line_of_many_dicts(self, tmp_path):
        path = tmp_path / "a.log"
        path.write_text("{'epoch': 1, 'eval_x': 1}" * (2 * console.MAX_DICTS) + "\n")
        assert read_logs(path).curves[0].steps.tolist() == [1]


@pytest.mark.parametrize(
    ("name", "data", "match"),
    [
        ("a.json", b"[" * 100_000, "truncated|nested"),
        ("a.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested|valid"),
        ("a.csv", gzip.compress(b"step,eval_x\n1,2\n", mtime=0), "gzip"),
        ("a.csv", b"PK\x03\x04" + bytes(50), "zip"),
        ("a.csv", b"PAR1" + bytes(50), "binary"),
        ("a.json", b"(dp0\nVstep\np1\nI1\ns.", "pickle"),
        ("a.csv", b"cposix\nsystem\n(S'true'\ntR.", "pickle"),
        ("a.jsonl", b"\x80\x02}q\x00.", "pickle"),
        ("a.csv", bytes(1000), "binary"),
        ("a.csv", b"   \n\n\t\n", "blank"),
        ("a.json", b"[]", "empty"),
        ("a.json", b'{"a": 1}', "no known log"),
        ("a.csv", b"step,eval_x\n1,2,3\n", "line 2: it has 3 cells and the header 2"),
        ("a.csv", b"step,eval_x\n\n1\n", "line 3: it has 1 cell and the header 2"),
        ("a.csv", b"run,metric,step,value\na,acc,1,.5,7\n", "line 2: it has 5 cells"),
        ("a.csv", b"step;eval_x\n1,2\n", "line 2: it has 1 cell and"),
        ("a.txt", b"To be, or not to be\n", "no rows|no known format"),
    ],
)
def test_refused_in_one_line(tmp_path, name, data, match):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=match) as told:
        read_logs(tmp_path / name)
    assert "\n" not in str(told.value)


def test_one_deep_record_does_not_spoil_the_log(tmp_path):
    path = tmp_path / "a.jsonl"
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    path.write_text(f'{{"step": 1, "eval_x": 1}}\n{deep}\n{{"step": 2, "eval_x": 2}}\n')
    reading = read_logs(path)
    assert reading.curves[0].steps.tolist() == [1, 2]
    assert "line 2" in reading.warnings[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(UserError, match="no regular file"):
        read_logs(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("step,eval_x\n1,1\n2,2\n")
    assert len(read_logs(tmp_path).curves) == 1


def test_links_are_not_followed_out_of_a_folder(tmp_path):
    outside = tmp_path / "outside.csv"
    outside.write_text("step,eval_x\n1,1\n2,2\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.csv").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    with pytest.raises(UserError, match="no training log"):
        read_logs(inside)
    (inside / "b.csv").write_text("step,eval_x\n1,1\n2,2\n")
    os.link(inside / "b.csv", inside / "c.csv")
    reading = read_logs(inside)
    assert [c.run for c in reading.curves] == ["b"]
    assert "a.csv, loop" in next(
        note for note in reading.notes if "links not followed" in note
    ) or ("loop, a.csv" in next(note for note in reading.notes if "links not followed" in note))


def test_names_that_are_half_characters(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"step": 1, "eval_\\ud800": 1}\n{"step": 2, "eval_\\ud800": 2}\n')
    assert read_logs(path).curves[0].metric == "eval_?"
