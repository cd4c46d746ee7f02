"""What a named study is: the grid, a part of it for a first look, and what its numbers say."""

from collections.abc import Callable
from dataclasses import dataclass

from evalstop.studies.analysis import Analysis
from evalstop.studies.results import Results
from evalstop.studies.study import Study


@dataclass(frozen=True)
class Named:
    """A study with its analysis.

    Parameters
    ----------
    study : Study
        All of it.
    smoke : Study
        A part that takes seconds; its cells are cells of the whole.
    analyse : callable
        Makes tables, figures and findings of the results of either.
    """

    study: Study
    smoke: Study
    analyse: Callable[[Results], Analysis]
