"""What the docs show runs as they show it."""

import re
from pathlib import Path

import pytest

from evalstop.detectors import check_detector
from evalstop.detectors.catalogue import load_class

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def blocks(page, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_template_of_a_detector_is_a_detector(tmp_path):
    member, prefix, check = blocks(ROOT / "docs" / "add-a-detector.md")
    file = tmp_path / "fall_speed.py"
    file.write_text(member)
    rule = load_class(f"{file}:FallSpeed", "detector")
    check_detector(rule())
    check_detector(rule(weight=1))
    names = {"FallSpeed": rule}
    exec(prefix, names)
    check_detector(names["MeanOfLastThree"]())
    exec(check, names)


def test_the_first_page_runs(capsys):
    (example,) = blocks(ROOT / "docs" / "index.md")
    exec(example, {})
    assert capsys.readouterr().out == "stop 400 200\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text()):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"
