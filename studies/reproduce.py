"""Reproduce the paper: its tables beside ours, then what it did not show; one report.

Every part is a named study with its own folder under the report's, so that an interrupted
reproduction goes on where it was, and ``evalstop study NAME --out ...`` shows one part of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from evalstop.benchmarks.pages import page
from evalstop.detectors.storage import write_atomically
from evalstop.studies.analysis import Analysis
from evalstop.studies.claims import CLAIMS, Checked, check
from evalstop.studies.named import NAMED
from evalstop.studies.report import TEMPLATES, figures
from evalstop.studies.results import Results, run_study

SHOWN = ("main", "composability", "noise", "base-rate", "k")
NOT_SHOWN = ("resubmission", "actions", "horizon", "real-noise", "load", "rlhf-share")


@dataclass(frozen=True)
class Part:
    """One study of the report, with what it says."""

    results: Results
    analysis: Analysis

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.results.study.name


@dataclass(frozen=True)
class Reproduction:
    """All parts, and the paper's claims held against them."""

    parts: Sequence[Part]
    checked: Sequence[Checked]
    seed: int

    def save(self, out: Path) -> list[Path]:
        """Write the claims as a table, every figure as SVG and PDF, and the report."""
        claims = claims_table(self.checked)
        write_atomically(out / "claims.csv", claims.to_csv(index=False))
        claims.to_parquet(out / "claims.parquet", index=False)
        for part in self.parts:
            part.analysis.save(part.results.folder)
            for name, drawing in part.analysis.figures.items():
                write_atomically(part.results.folder / f"{name}.pdf", drawing.pdf())
        write_atomically(out / "report.html", self.report())
        return [out / name for name in ("report.html", "claims.csv", "claims.parquet")]

    def report(self) -> str:
        """Lay out the page: text, tables and inline figures, nothing from outside."""
        sections = [
            ("What the paper shows", [p for p in self.parts if p.name in SHOWN]),
            ("What it does not show", [p for p in self.parts if p.name in NOT_SHOWN]),
        ]
        return page(
            "reproduce.html.j2",
            folder=TEMPLATES,
            title="EvalStop, reproduced",
            checked=self.checked,
            counts=pd.Series([c.verdict for c in self.checked]).value_counts().to_dict(),
            sections=sections,
            drawn={p.name: figures(p.name, p.analysis) for p in self.parts},
            seed=self.seed,
        )


def reproduce(
    out: Path,
    *,
    smoke: bool = False,
    seed: int = 0,
    jobs: int = 1,
    begin: Callable[[str], Callable[[int, int], None]] = lambda name: lambda done, total: None,
) -> Reproduction:
    """Run what is missing of all studies of the report.

    Parameters
    ----------
    out : Path
        Folder of the report; each study has a folder in it.
    smoke : bool
        A small part of each study, in seconds.
    seed : int
        Seed of everything random.
    jobs : int
        Worker processes.
    begin : callable
        Told the name of each study when it begins; gives what is told how many cells are done.
    """
    parts = []
    for name in (*SHOWN, *NOT_SHOWN):
        named = NAMED[name]
        study = named.smoke if smoke else named.study
        results = run_study(study, out / name, seed=seed, jobs=jobs, advance=begin(name))
        parts.append(Part(results, named.analyse(results)))
    by_name = {part.name: part.results for part in parts}
    held = (check(claim, by_name[claim.study]) for claim in CLAIMS)
    return Reproduction(parts, [found for found in held if found is not None], seed)


def claims_table(checked: Sequence[Checked]) -> pd.DataFrame:
    """Lay out the claims: paper beside ours, with interval, spread and verdict."""
    return pd.DataFrame(
        {
            "section": c.claim.section,
            "claim": c.claim.what,
            "paper": c.claim.paper,
            "ours": c.ours,
            "ours_low": c.ours_low,
            "ours_high": c.ours_high,
            "sd_of_one_workload": c.spread,
            "verdict": c.verdict,
            "why": c.claim.why if c.verdict == "cannot be met" else "",
        }
        for c in checked
    )
