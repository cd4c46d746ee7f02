import csv
import html.parser
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from made_curves import curve, labelled, made_up

from evalstop.benchmarks.compare_figures import disputed_svg, families, most_disputed
from evalstop.benchmarks.compare_report import findings, matched_lines, write_report
from evalstop.benchmarks.leaderboard import Row, compare
from evalstop.benchmarks.plots import figure, inline, looks, svg
from evalstop.detectors import DETECTORS
from evalstop.detectors.settings import split_specs

SPECS = "k-decline:k=2,k-decline:k=3,patience,drawdown,ewma-drawdown"


def comparison(curves, specs=SPECS, **options):
    return compare(labelled(curves), [DETECTORS.build(s) for s in split_specs(specs)], **options)


FOUND = comparison(made_up())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(FOUND, folder, "evalstop compare curves.csv --labels label")
    return folder


def test_the_files_that_were_promised(folder):
    figures = {f"{name}.{kind}" for name in ("roc", "amoc") for kind in ("svg", "png")}
    names = {"leaderboard.csv", "leaderboard.parquet", "report.html"} | figures
    assert {path.name for path in folder.iterdir()} == names


def test_csv_and_parquet_are_the_table(folder):
    with (folder / "leaderboard.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    parquet = pq.read_table(folder / "leaderboard.parquet").to_pylist()
    assert len(rows) == len(parquet) == len(FOUND.rows)
    for text, typed, row in zip(rows, parquet, FOUND.rows, strict=True):
        assert list(text) == list(typed) == list(Row._fields)
        for name, value in row._asdict().items():
            if isinstance(value, float) and math.isnan(value):
                assert (text[name], typed[name]) == ("", None)
            else:
                assert (text[name], typed[name]) == (str(value), value)


def test_equal_comparisons_give_equal_bytes(folder, tmp_path):
    write_report(comparison(made_up()), tmp_path, "evalstop compare curves.csv --labels label")
    for path in folder.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


class Page(html.parser.HTMLParser):
    """Collect the tags and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_needs_nothing_but_itself(folder):
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert not [tag for tag, _ in page.tags if tag in {"link", "img", "iframe", "object"}]
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#").startswith("#")
        assert attributes.get("xlink:href", "#").startswith("#")
    style = " ".join(page.words)
    assert "@import" not in style
    assert "url(http" not in style


def test_no_id_is_used_twice_and_every_reference_is_there(folder):
    text = (folder / "report.html").read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)) > 100
    references = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert references <= set(ids)


def test_the_page_shows_the_leaderboard(folder):
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert sum(tag == "svg" for tag, _ in page.tags) == 3
    assert sum(tag == "table" for tag, _ in page.tags) == 2
    for entry in FOUND.entries:
        assert entry.spec in page.words


def test_names_of_runs_are_text_and_nothing_else(tmp_path):
    hostile = "<script>alert('$x^2$')</script>\u202e漢"
    curves = [replace(c, run=hostile + c.run, metric="a&b") for c in made_up(40)]
    write_report(comparison(curves), tmp_path, f"evalstop {hostile}")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    for name in ("roc.svg", "amoc.svg"):
        ET.parse(tmp_path / name)


def test_curves_that_nobody_can_judge_still_make_a_page(tmp_path):
    flat = [replace(c, values=np.full_like(c.values, 0.5)) for c in made_up()]
    found = comparison(flat, "k-decline,drawdown")
    assert families(found) == []
    assert findings(found) == []
    write_report(found, tmp_path)
    assert "degenerate" in (tmp_path / "report.html").read_text()


def test_what_saves_most_comes_first_and_is_said():
    lines = matched_lines(FOUND)
    saved = [line.row.saved_est for line in lines]
    assert saved == sorted(saved, reverse=True)
    assert f"{lines[0].spec} saves most" in findings(FOUND)[-1]
    assert [line.spec for line in lines].count("k-decline:k=3") == 0  # as k=2 with one statistic


def test_the_most_disputed_runs_come_first_and_one_curve_of_each():
    agreed = [curve(f"up-{i}", np.arange(8), "healthy") for i in range(3)]
    late = curve("late", [0, 3, 2, 4, 5, 6, 5, 4], "declined")  # only k=1 stops it early
    twice = [curve("both", [0, 3, 2, 4, 5, 6, 7, 8], "healthy", metric=m) for m in "xy"]
    found = comparison([*agreed, late, *twice], "k-decline:k=1,k-decline:k=2")
    names = [found.labelled.curves[i].run for i in most_disputed(found)]
    assert sorted(names) == ["both", "late"]
    drawn = disputed_svg(found)
    assert "should stop" in drawn
    assert "should go on" in drawn


def test_rules_that_agree_leave_no_picture():
    curves = [curve("a", [0, 1, 2, 1, 0], "declined"), curve("b", [0, 1, 2], "healthy")]
    assert disputed_svg(comparison(curves, "k-decline")) == ""


def test_a_figure_is_the_same_each_time_and_ids_carry_its_name():
    def draw(name):
        with figure(3, 2) as drawn:
            drawn.subplots().plot([0, 1], [0, 1], marker="o")
            return svg(drawn, name)

    assert draw("x") == draw("x")
    ids = re.findall(r'\bid="([^"]+)"', inline(draw("x"), "a label"))
    assert ids
    assert all(i.startswith("x-") for i in ids)


def test_looks_differ():
    found = looks([[f"{i}-{j}" for j in range(3)] for i in range(20)])
    assert len(set(found.values())) == 60
