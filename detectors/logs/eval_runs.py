"""Eval curves as a detector sees them: direction applied, the other channels put at each eval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalstop.detectors.logs.channels import channels_at
from evalstop.detectors.logs.curve import Curve, Reading, is_selected
from evalstop.detectors.observation import FloatArray, Runs
from evalstop.errors import UserError


@dataclass(frozen=True, eq=False)
class EvalRuns:
    """Eval curves, and the same as runs for a detector, in one order.

    Parameters
    ----------
    curves : tuple of Curve
        One for each eval metric of each run.
    runs : Runs
        Their scores, higher is better, with step, progress and the channels that some run logs.
    derived_progress : bool
        Nobody logged a progress: it is step / last step, which is right for runs that are over.
    """

    curves: tuple[Curve, ...]
    runs: Runs
    derived_progress: bool

    def select(self, select: Mapping[str, str]) -> "EvalRuns":
        """Give the curves whose columns have these values; `UserError` if there are none."""
        chosen = [i for i, curve in enumerate(self.curves) if is_selected(curve, select)]
        if not chosen:
            asked = ", ".join(f"{column}={value}" for column, value in select.items())
            raise UserError(f"{asked}: no curve has this, see the columns of the file")
        curves = tuple(self.curves[i] for i in chosen)
        return EvalRuns(curves, self.runs.take(np.array(chosen)), self.derived_progress)


def eval_runs(reading: Reading) -> EvalRuns:
    """Turn what was read into runs for a detector: each eval metric of a run is one of them.

    Training loss, proxy reward, KL and progress are the last values logged at or before each eval.

    Raises
    ------
    UserError
        If there is no eval curve, or the direction of one is unknown.
    """
    curves = tuple(c for c in reading.curves if c.role == "eval" and len(c.steps))
    if not curves:
        raise UserError("no eval curve found: name the metric that is one with --metric")
    _require_directions(curves)
    of_run: dict[str, Reading] = {}
    for curve in reading.curves:
        of_run.setdefault(curve.run, Reading()).curves.append(curve)
    joined = [channels_at(curve, of_run[curve.run]) for curve in curves]
    names = sorted({name for channels in joined for name in channels})
    channels = {"step": [c.steps for c in curves]}
    for name in names:
        channels[name] = [
            found.get(name, np.full(len(c.steps), np.nan))
            for c, found in zip(curves, joined, strict=True)
        ]
    derived = "progress" not in channels
    if derived:
        channels["progress"] = [_progress(c, of_run[c.run].curves) for c in curves]
    for curve, progress in zip(curves, channels["progress"], strict=True):
        if ((progress < 0) | (progress > 1)).any():
            raise UserError(f"{curve.run}: its progress must be a share between 0 and 1")
    scores = [c.values if c.higher_is_better else -c.values for c in curves]
    return EvalRuns(curves, Runs.of(scores, **channels), derived)


def _require_directions(curves: Sequence[Curve]) -> None:
    unknown = sorted({c.metric for c in curves if c.higher_is_better is None})
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise UserError(
            f"{unknown[0]}{more}: the log does not tell which way this metric is better, "
            f"add --direction {unknown[0]}=higher (or lower)"
        )


def _progress(curve: Curve, series: Sequence[Curve]) -> FloatArray:
    """Give step / last step of the run; where steps tell nothing, the share of its evals."""
    own = [s for s in series if len(s.steps) and (not s.labels or s.source == curve.source)]
    last = max(s.steps[-1] for s in own)
    if last <= 0 or curve.steps[0] < 0:
        return np.arange(1, len(curve.steps) + 1) / len(curve.steps)
    progress: FloatArray = curve.steps / last
    return progress
