"""What a log is read into: curves, and what has to be said about the reading of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.settings import nearest
from evalstop.errors import UserError

Role = Literal["eval", "train_loss", "proxy_reward", "kl", "signal"]


@dataclass(frozen=True, eq=False)
class Curve:
    """One metric of one run over its steps.

    Parameters
    ----------
    run, metric : str
        Names as the log spells them (Unicode NFC, otherwise untouched).
    role : str
        ``eval`` for what a detector judges; ``train_loss``, ``proxy_reward`` and ``kl`` for the
        train-side channels that some detectors read as well; ``signal`` for other train series.
    higher_is_better : bool or None
        Direction; None = the log does not tell, the user has to.
    steps : (n,) float array
        Steps in rising order, each once.
    values : (n,) float array
        Values; NaN = evaluated there, but the eval gave no finite number.
    nonfinite : tuple of (step, "nan" | "inf" | "-inf" | a number beyond 1e100)
        What was logged where `values` is NaN.
    stderr : (n,) float array, optional
        Standard errors told by the log or by repeated rows (sd(ddof=1) / sqrt(n)); NaN = none.
    n : (n,) int array, optional
        Number of repeated rows behind each value.
    source : str
        Where it was read, or what a ``source`` column says.
    labels : mapping of str to str
        Further text columns of a tidy CSV, one value per curve.
    """

    run: str
    metric: str
    role: Role
    higher_is_better: bool | None
    steps: NDArray[np.float64]
    values: NDArray[np.float64]
    nonfinite: tuple[tuple[float, str], ...] = ()
    stderr: NDArray[np.float64] | None = None
    n: NDArray[np.int64] | None = None
    source: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def best(self) -> tuple[float, float] | None:
        """Give step and value of the best eval (the earliest if equal), None if nobody can know."""
        if self.higher_is_better is None or np.isnan(self.values).all():
            return None
        at = int(np.nanargmax(self.values if self.higher_is_better else -self.values))
        return float(self.steps[at]), float(self.values[at])


@dataclass
class Reading:
    """Curves with what a user must be told (`warnings`), may like to know (`notes`), or lost.

    `failed` holds one sentence for each path that could not be read while others could.
    """

    curves: list[Curve] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def is_selected(curve: Curve, select: Mapping[str, str]) -> bool:
    """Tell whether the columns of a curve have these values: source, run, metric, or text columns.

    Raises
    ------
    UserError
        If there is no such column.
    """
    columns = {**curve.labels, "source": curve.source, "run": curve.run, "metric": curve.metric}
    for column in select:
        if column not in columns:
            raise UserError(f"{column}: no such column, {nearest(column, columns)}")
    return all(columns[column] == value for column, value in select.items())
