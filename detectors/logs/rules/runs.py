"""Which rows are one run, and which columns only count its repeats."""

from collections.abc import Sequence

from evalstop.detectors.logs.log import Row
from evalstop.detectors.logs.rules.branches import Moment
from evalstop.detectors.logs.rules.names import RUN_PARTS

Timed = tuple[Row, Moment]


def group(timed: Sequence[Timed], default: str) -> dict[str, list[Timed]]:
    """Give the rows of each run, by its name.

    A run is named by its run column as it is spelled; seed and trial are added where they tell
    runs apart (``seed=1``), and never where they are the same all over the log.
    """
    values: dict[str, dict[str, None]] = {}
    for told in dict.fromkeys(row.run for row, _ in timed):
        for key, value in told:
            values.setdefault(key, {})[value] = None
    if not values:
        return {default: list(timed)}
    naming = [k for k in values if k not in RUN_PARTS][:1]
    parts = [k for k, told in values.items() if k in RUN_PARTS and len(told) > 1]
    parts = [k for k in parts if not naming or _tells_apart(timed, naming[0], k)]
    grouped: dict[str, list[Timed]] = {}
    for row, moment in timed:
        own = dict(row.run)
        name = "/".join(
            [own[k] for k in naming if k in own] + [f"{k}={own[k]}" for k in parts if k in own]
        )
        grouped.setdefault(name or default, []).append((row, moment))
    return grouped


def _tells_apart(timed: Sequence[Timed], naming: str, part: str) -> bool:
    """Tell whether one run name comes with several values of a further column."""
    first: dict[str | None, str | None] = {}
    pairs = ((dict(row.run).get(naming), dict(row.run).get(part)) for row, _ in timed)
    return any(first.setdefault(name, value) != value for name, value in pairs)


def streams(rows: Sequence[Timed]) -> tuple[list[list[Moment]], str]:
    """Split the rows of a run into replicates (ranks, episodes), and name what counts them.

    A column counts replicates if most steps have several of its values; an episode number that
    rises with the step is no replicate, and its rows stay one stream.
    """
    keys = dict.fromkeys(key for row, _ in rows for key, _ in row.replicate)
    if not keys:
        return [[moment for _, moment in rows]], ""
    at: dict[float, set[tuple[tuple[str, str], ...]]] = {}
    for row, moment in rows:
        if moment.values:
            at.setdefault(moment.step, set()).add(row.replicate)
    if sum(len(told) > 1 for told in at.values()) * 2 <= len(at):
        return [[moment for _, moment in rows]], ""
    split: dict[tuple[tuple[str, str], ...], list[Moment]] = {}
    for row, moment in rows:
        split.setdefault(row.replicate, []).append(moment)
    return list(split.values()), ", ".join(keys)
