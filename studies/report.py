"""A study as a page to look at, which needs nothing but itself."""

from pathlib import Path

from markupsafe import Markup

from evalstop.benchmarks.pages import page
from evalstop.benchmarks.plots import inline
from evalstop.studies.analysis import Analysis
from evalstop.studies.results import Results

TEMPLATES = Path(__file__).with_name("templates")


def report(results: Results, analysis: Analysis) -> str:
    """Lay out what a study found: its question, the answer, figures and tables."""
    study = results.study
    return page(
        "study.html.j2",
        folder=TEMPLATES,
        title=study.question or study.name,
        study=study,
        findings=analysis.findings,
        figures=figures(study.name, analysis),
        tables=analysis.tables,
        seed=results.seed,
    )


def figures(study: str, analysis: Analysis) -> list[Markup]:
    """Draw the figures of a study for a page, never larger than they are meant to be."""
    label = f"Figure of the study {study}"
    return [
        Markup(inline(drawing.svg(f"{study}-{name}"), label, drawing.width))
        for name, drawing in analysis.figures.items()
    ]
