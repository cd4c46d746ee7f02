"""What the page on choosing shows is what the programs say."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from evalstop.cli import main

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "choosing.md").read_text(encoding="utf-8")
PICTURES = runpy.run_path(str(DOCS / "examples" / "choosing_pictures.py"))


def test_the_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(example, {})
    promise, threshold = capsys.readouterr().out.splitlines()
    assert promise in PAGE
    assert threshold == "0.052"


@pytest.mark.parametrize("block", re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL))
def test_the_commands_run(block, capsys, monkeypatch):
    monkeypatch.chdir(DOCS.parent)
    for line in block.splitlines():
        assert main(shlex.split(line)[1:]) in (0, None)
        printed = capsys.readouterr().out
        if "k-decline" in line:
            assert printed in PAGE


def test_every_picture_is_there_and_shown():
    for name in PICTURES["PICTURES"]:
        assert (DOCS / "examples" / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
        assert f"(examples/{name}.svg)" in PAGE


def test_a_picture_is_drawn_again(tmp_path, monkeypatch):
    first = dict([next(iter(PICTURES["PICTURES"].items()))])
    draw = PICTURES["main"]
    monkeypatch.setitem(draw.__globals__, "PICTURES", first)
    draw(tmp_path)
    (drawn,) = tmp_path.iterdir()
    shapes = [
        len(re.findall("<path ", p.read_text())) for p in (drawn, DOCS / "examples" / drawn.name)
    ]
    assert shapes[0] == shapes[1] > 20


def test_the_table_of_promises_holds_what_it_says():
    """At most the budget, up to four standard errors of 20,000 runs and as many for a threshold."""
    (table,) = re.findall(r"\| detector \| 5 %.*?(?=\n\n)", PAGE, re.DOTALL)
    head, _, *rows = (line.strip("| ").split(" | ") for line in table.splitlines())
    budgets = [float(column.split(" %")[0]) for column in head[1:]]
    assert len(rows) > 25
    for detector, *cells in rows:
        for budget, cell in zip(budgets, cells, strict=True):
            rate = float(cell.split()[0]) / 100
            level = float(re.sub(r".*\(|\).*", "", cell)) / 100
            slack = 4 * (2 * max(level, 0.0005) / 20_000) ** 0.5
            assert rate <= budget / 100 + slack, (detector, budget)
            assert abs(rate - level) <= slack or "(" not in cell, (detector, budget)
            assert rate >= budget / 100 - slack or "(" in cell, (detector, budget)
