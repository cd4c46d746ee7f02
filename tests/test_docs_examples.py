"""Examples of the docs print what the docs show."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
OUTPUTS = sorted((DOCS / "examples").glob("*.out"))


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda p: p.stem)
def test_an_example_prints_what_a_page_shows(output, capsys):
    runpy.run_path(str(output.with_suffix(".py")), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed == output.read_text(encoding="utf-8")
    assert any(printed in page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))


def test_the_page_on_control_charts_runs(capsys):
    page = (DOCS / "control-charts.md").read_text(encoding="utf-8")
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(example, {})
    assert capsys.readouterr().out.splitlines() == [
        "threshold 3.936",
        "314 evals to a false alarm",
        "8.3 evals to an alarm after a fall of one sigma",
        "0.14 false alarms within 50 evals",
        "3 evals since the last change, most likely",
    ]
