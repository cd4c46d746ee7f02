"""Which clock gives the steps of a log, and what is said where it is a poor one.

The trainer's step is best; then the counter of Weights & Biases, epochs, episodes, the order of
the evals. The clock that most evals carry wins, so that one odd row decides nothing.
"""

from collections.abc import Sequence, Set

from evalstop.detectors.logs.log import Log, Row
from evalstop.detectors.logs.rules.branches import Moment
from evalstop.detectors.logs.rules.roles import Name
from evalstop.detectors.logs.rules.sentences import some, step_text

CLOCKS = ("step", "wandb", "epoch", "episode")
WARNINGS = {
    "step": "",
    "wandb": "no step of the trainer: used _step, which is W&B's own counter",
    "epoch": "no step column: used epoch",
    "episode": "no step column: used episode",
}


def moments(log: Log, evals: Set[Name]) -> list[tuple[Row, Moment]]:
    """Give each row of a log its step; rows that tell none are left out with a warning."""
    clock = choose(log.rows, evals)
    if clock is None:
        return _in_order(log, evals)
    if WARNINGS[clock]:
        log.warnings.append(f"{log.source}: {WARNINGS[clock]}")
    timed: list[tuple[Row, Moment]] = []
    lost: dict[str, None] = {}
    for row in log.rows:
        step = row.clocks.get(clock)
        if isinstance(step, float):
            timed.append((row, Moment(step, row.values, row.restart, row.closing)))
        elif not evals.isdisjoint(row.values):
            lost[f'"{step}"' if step else "one without a step"] = None
    if lost:
        log.warnings.append(
            f"{log.source}: rows whose step is no number are left out: {some(list(lost))}"
        )
    return timed


def choose(rows: Sequence[Row], evals: Set[Name]) -> str | None:
    """Give the clock that most rows with evals carry, None if none does."""
    counts = dict.fromkeys(CLOCKS, 0)
    for row in rows:
        if not evals.isdisjoint(row.values):
            for clock, moment in row.clocks.items():
                counts[clock] += isinstance(moment, float)
    best = max(CLOCKS, key=lambda clock: counts[clock])
    return best if counts[best] else None


def _in_order(log: Log, evals: Set[Name]) -> list[tuple[Row, Moment]]:
    """Count the evals of each run 0, 1, 2 ...; other rows belong to the eval that follows."""
    every = log.ask.step_every
    last = 0.0
    count: dict[tuple[object, ...], int] = {}
    timed = []
    for row in log.rows:
        run = (row.run, row.replicate)
        at = count.setdefault(run, 0)
        step = at * (every or 1.0)
        timed.append((row, Moment(step, row.values, row.restart, row.closing)))
        if not evals.isdisjoint(row.values):
            count[run] += 1
            last = max(last, step)
    if every:
        log.notes.append(f"{log.source}: no step column: evals are {every:g} apart, as you said")
    else:
        log.warnings.append(
            f"{log.source}: no step column: used the order 0..{step_text(last)} "
            "(--step-every N scales it)"
        )
    return timed
