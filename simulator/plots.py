"""Pictures of a run: GPUs in use, queue length, and who ran when."""

from pathlib import Path

import numpy as np

from evalstop.detectors.words import plural
from evalstop.errors import UserError
from evalstop.simulator.run import Run

HOUR = 3600.0
BARS_AS_PIXELS = 2000
"""So many bars make an SVG slow: they are drawn as pixels."""


def plot_run(run: Run, path: Path) -> None:
    """Draw utilisation, queue length and a Gantt chart over time.

    Parameters
    ----------
    run : Run
    path : path
        Its suffix says how: ``.svg``, ``.png``, ``.pdf``.

    Raises
    ------
    UserError
        If the file cannot be written or its suffix is unknown.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    jobs, stints = run.workload.jobs, run.stints
    submit = np.array([j.submit for j in jobs], dtype=float)
    origin = submit[0]
    figure = Figure(figsize=(9, 8), layout="constrained")
    FigureCanvasAgg(figure)
    above, middle, below = figure.subplots(
        3, 1, sharex=True, gridspec_kw={"height_ratios": [1, 1, 3]}
    )
    figure.suptitle(f"{run.scheduler} on {plural(run.gpus, 'GPU')}, {plural(len(jobs), 'job')}")

    times, used = settled(*stints.in_use())
    above.step((times - origin) / HOUR, used, where="post", linewidth=0.8)
    above.axhline(run.gpus, color="0.6", linewidth=0.8, linestyle="--")
    above.set(ylabel="GPUs in use", ylim=(0, run.gpus * 1.05))

    times, waiting = queue_length(run)
    middle.step((times - origin) / HOUR, waiting, where="post", linewidth=0.8, color="C1")
    middle.set(ylabel="jobs waiting", ylim=(0, max(1, waiting.max()) * 1.05))

    rastered = len(stints.job) > BARS_AS_PIXELS
    ends = np.array(run.ends, dtype=float)
    rows = np.arange(len(jobs))
    spans = (
        ("waits", "0.85", rows, submit, ends),
        ("overhead", "C3", stints.job, stints.granted, stints.released),
        ("works", "C0", stints.job, stints.works_from, stints.stopped),
    )
    width = float(np.clip(300 / len(jobs), 0.5, 6))
    for name, colour, row, start, end in spans:
        below.hlines(
            row,
            (start - origin) / HOUR,
            (end - origin) / HOUR,
            colors=colour,
            linewidth=width,
            label=name,
            rasterized=rastered,
        )
    below.set(xlabel="hours since the first submit", ylabel="job, in order of submission")
    below.invert_yaxis()
    below.legend(loc="lower left", frameon=False)
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: the figure cannot be written ({error})") from None


def queue_length(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Give the moments at which the number of waiting jobs may change, and the number then."""
    stints = run.stints
    submit = np.array([j.submit for j in run.workload.jobs], dtype=float)
    last = np.append(stints.job[1:] != stints.job[:-1], True)
    comes = np.concatenate([submit, stints.released[~last]])
    times = np.concatenate([comes, stints.granted])
    order = np.argsort(times, kind="stable")
    change = np.concatenate([np.ones(len(comes), int), -np.ones(len(stints.granted), int)])
    return settled(times[order], np.cumsum(change[order]))


def settled(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep the last value of every moment."""
    last = np.concatenate([times[1:] != times[:-1], [True]])
    return times[last], values[last]
