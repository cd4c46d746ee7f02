"""A column in percent is read as fractions throughout."""

from collections.abc import Sequence

from evalstop.detectors.logs.log import Log, Row
from evalstop.detectors.logs.rules.branches import Moment
from evalstop.detectors.logs.rules.sentences import some, step_text


def as_percent(timed: Sequence[tuple[Row, Moment]], log: Log) -> list[tuple[Row, Moment]]:
    """Divide the bare numbers of percent columns by 100, and say so.

    Cells with a percent sign were divided when they were read.
    """
    columns = {name for row, _ in timed for name in row.percent}
    columns |= {name.metric for row, _ in timed for name in row.values if "%" in name.metric}
    if not columns:
        return list(timed)
    changed, bare = [], dict[str, list[str]]()
    for row, moment in timed:
        values = dict(moment.values)
        for name, value in moment.values.items():
            if name.metric in columns and name.metric not in row.percent:
                values[name] = value / 100
                told = f"at step {step_text(moment.step)} ({value:g} %)"
                bare.setdefault(name.metric, []).append(told)
        changed.append((row, moment._replace(values=values)))
    for metric, where in bare.items():
        log.aside(metric, f"no % sign in a % column {some(where)}: read as percent")
    return changed
