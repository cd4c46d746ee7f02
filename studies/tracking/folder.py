"""A results folder: what a command leaves behind, and all that tracking reads."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from evalstop.errors import UserError
from evalstop.studies.analysis import with_contender

TOLD, ROWS = "study.json", "results.parquet"
# What goes along with every detector; the raw rows are there as Parquet, and as runs.
ARTIFACTS = {".html", ".png", ".svg", ".pdf", ".csv", ".txt", ".parquet"}
# Columns that say which contender, not where on the grid.
CONTENDER = ("detector", "threshold")


@dataclass(frozen=True, eq=False)
class ResultsFolder:
    """Finished results, read from their folder.

    Parameters
    ----------
    path : Path
        The folder.
    told : mapping
        What ``study.json`` says.
    frame : DataFrame
        What ``results.parquet`` holds, and a column ``contender``.
    id : str
        Hash of both: other numbers, another id.
    """

    path: Path
    told: Mapping[str, Any]
    frame: pd.DataFrame
    id: str

    @property
    def study(self) -> Mapping[str, Any]:
        """The study as it was asked for."""
        study: Mapping[str, Any] = self.told["study"]
        return study

    @property
    def name(self) -> str:
        """Name of the study; of one point of it, ``noise/3``."""
        whole = len(self.frame["point"].unique()) > 1
        return str(self.study["name"]) + ("" if whole or not self._is_point else f"/{self._point}")

    @property
    def _point(self) -> int:
        return int(self.frame["point"].iloc[0])

    @property
    def _is_point(self) -> bool:
        return self.path.name == str(self._point)

    @property
    def shown(self) -> list[str]:
        """Scores that matter, the first one most."""
        return [score for score in self.told["shown"] if score in self.frame.columns]

    @cached_property
    def labels(self) -> list[str]:
        """Columns that say where on the grid a cell stands."""
        columns = list(self.frame.columns)
        between = columns[columns.index("point") + 1 : columns.index("repeat")]
        return [label for label in between if label not in CONTENDER]

    @cached_property
    def varying(self) -> list[str]:
        """Labels with more than one value."""
        return [label for label in self.labels if self.frame[label].nunique() > 1]

    @cached_property
    def numeric(self) -> list[str]:
        """Varying labels along which curves can be drawn."""
        kinds = {label: self.frame[label].dtype.kind for label in self.varying}
        return [label for label, kind in kinds.items() if kind in "iuf"]

    @property
    def words(self) -> list[str]:
        """All other varying labels."""
        return [label for label in self.varying if label not in self.numeric]

    @property
    def split_by(self) -> str:
        """What tells top-level runs apart: the contender, or what a lone one was tried on."""
        alone = self.frame["contender"].nunique() == 1
        return self.words[0] if alone and self.words else "contender"

    def findings(self) -> str:
        """Give what the study found, if it is written down."""
        file = self.path / "findings.txt"
        return file.read_text("utf-8") if file.is_file() else ""

    def artifacts(self) -> list[Path]:
        """Give the report (that of the folder above if there is no own), figures and tables."""
        files = sorted(f for f in self.path.iterdir() if f.suffix in ARTIFACTS and f.is_file())
        files = [f for f in files if f.name != "results.csv"]
        above = self.path.parent / "report.html"
        if above.is_file() and not any(f.name == above.name for f in files):
            files.append(above)
        return files


def read_folder(path: Path) -> ResultsFolder:
    """Read a results folder.

    Raises
    ------
    UserError
        If it is none, or its files cannot be read.
    """
    try:
        told = json.loads((path / TOLD).read_text("utf-8"))
        frame = pd.read_parquet(path / ROWS)
        digest = hashlib.sha256(json.dumps([told["study"], told["seed"]]).encode())
        digest.update(frame.to_csv(index=False).encode())
        folder = ResultsFolder(path.resolve(), told, with_contender(frame), digest.hexdigest()[:20])
        if frame.empty or not folder.shown or not {"cell", *CONTENDER} <= set(frame.columns):
            raise UserError(f"{path}: holds no results, run its command again")
        _ = folder.labels, folder.name
    except OSError as error:
        raise UserError(
            f"{path}: has no {TOLD} and {ROWS} that can be read ({error.strerror or error}); "
            "give a folder that a command wrote"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: its {TOLD} or {ROWS} is damaged ({error}), run its command again"
        ) from error
    return folder


def results_folders(path: Path) -> Sequence[Path]:
    """Give a folder and those below it that hold results.

    Raises
    ------
    UserError
        If there are none.
    """
    found = sorted(_below(path)) if path.is_dir() else []
    if not found:
        raise UserError(
            f"{path}: there are no results here, give a folder that evalstop wrote "
            "(evalstop-out/noise)"
        )
    return found


def _below(path: Path) -> Iterator[Path]:
    if (path / TOLD).is_file() and (path / ROWS).is_file():
        yield path
    for below in path.iterdir():
        if below.is_dir() and below.name != "cells" and not below.is_symlink():
            yield from _below(below)
