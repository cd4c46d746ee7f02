"""From the rows of one log to the series of its runs: the rules in their order."""

from collections.abc import Mapping, Sequence

from evalstop.detectors.logs.curve import Role
from evalstop.detectors.logs.log import Log, Row
from evalstop.detectors.logs.problems import NoCurveError, NotALogError
from evalstop.detectors.logs.rules import clocks, runs
from evalstop.detectors.logs.rules.branches import Branch, Moment, Point, follow
from evalstop.detectors.logs.rules.names import is_bookkeeping, words
from evalstop.detectors.logs.rules.percent import as_percent
from evalstop.detectors.logs.rules.roles import Name, roles
from evalstop.detectors.logs.rules.sentences import some, step_text
from evalstop.detectors.logs.series import Found, Joins, Run, Series
from evalstop.detectors.words import plural
from evalstop.errors import UserError


def assemble(log: Log, *, joins: Joins = "equal") -> Found:
    """Apply the rules to one log; `NoCurveError` says what was found instead of evals."""
    if not log.rows:
        raise NoCurveError(f"{log.source}: there are no rows in it, has the run started?")
    role, eliminated = roles(
        log.found, all_eval=log.all_eval, all_train=log.all_train, wanted=log.ask.metrics
    )
    evals = {name for name, r in role.items() if r == "eval"}
    if not evals:
        raise NoCurveError(no_eval(log))
    if eliminated:
        _refuse_guess(log, evals)
        log.notes.append(
            f"{log.source}: no name says eval and no series is of training: "
            f"took {some(eliminated)} as evals"
        )
    timed = as_percent(clocks.moments(log, evals), log)
    grouped = runs.group(timed, log.run)
    _refuse_runs_table(log, grouped, evals)
    found = Found(warnings=log.warnings, notes=log.notes)
    for name, rows in grouped.items():
        streams, by = runs.streams(rows)
        branches = [follow(_ordered(s, log.ordered), ordered=log.ordered) for s in streams]
        own = "never" if log.own_run and name == log.run else joins
        series = [
            Series(
                metric,
                r,
                points,
                distinct=len(streams) > 1,
                by=by,
                known=log.known_repeats,
                source=log.source,
            )
            for metric, r, points in _named(branches, role)
        ]
        if series:
            said = _restarts(branches)
            found.runs.append(Run(name, log.source, series, own, log.told, log.asides, said))
    return found


def _refuse_guess(log: Log, evals: set[Name]) -> None:
    """Refuse numbers met in a folder that neither a name nor steps make a curve."""
    named = not {"eval", "evals", "evaluation", "evaluations"}.isdisjoint(words(log.run))
    told = named or (len(log.rows) > 1 and clocks.choose(log.rows, evals) is not None)
    if log.ask.browsing and not told:
        raise NotALogError(f"{log.source}: nothing in it says that it is a log of evals")


def refuse_lone_record(log: Log) -> None:
    """Refuse a single record met in a folder: the final results that many trainers leave there."""
    if log.ask.browsing and len(log.rows) == 1:
        raise NotALogError(f"{log.source}: a lone record is no log")


def no_eval(log: Log) -> str:
    """Say that there are no evals, what there is, and what to do."""
    told = [n.metric for n in log.found if not is_bookkeeping(n.metric)]
    listed = some(list(dict.fromkeys(told)), 12) or "nothing but bookkeeping"
    if log.ask.metrics:
        return f"{log.source}: no series {some(sorted(log.ask.metrics))} in it (found: {listed})"
    return (
        f"{log.source}: no eval series in {plural(len(log.rows), 'row')} (found: {listed}); let "
        "the trainer evaluate, or name a series with --metric"
    )


def _ordered(moments: Sequence[Moment], ordered: bool) -> Sequence[Moment]:
    return moments if ordered else sorted(moments, key=lambda m: m.step)


def _named(
    branches: Sequence[Branch], role: Mapping[Name, Role]
) -> list[tuple[str, Role, list[list[Point]]]]:
    """Give each series its metric; splits of one role (val, test) are told apart by name."""
    taken: dict[tuple[str, Role], list[Name]] = {}
    for name, r in role.items():
        taken.setdefault((name.metric, r), []).append(name)
    named = []
    for (metric, r), same in taken.items():
        for name in same:
            points = [b.series[name] for b in branches if b.series.get(name)]
            if points:
                spelled = f"{name.split}/{metric}" if len(same) > 1 and name.split else metric
                named.append((spelled, r, points))
    return named


def _restarts(branches: Sequence[Branch]) -> list[str]:
    said = [text for branch in branches for text in branch.restarts]
    backward = dict.fromkeys(pair for branch in branches for pair in branch.backward)
    back = [f"from {step_text(last)} to {step_text(to)}" for last, to in backward]
    if back:
        said.append(
            f"step goes back {some(back)} (resumed run?): what follows replaces "
            "what was logged from there on"
        )
    reloaded = dict.fromkeys(pair for branch in branches for pair in branch.reloaded)
    said += [
        f"the eval after the end of training at step {step_text(at)} repeats "
        f"step {step_text(earlier)} (best checkpoint reloaded): left out"
        for at, earlier in reloaded
    ]
    return said


def _refuse_runs_table(
    log: Log, grouped: Mapping[str, Sequence[tuple[Row, Moment]]], evals: set[Name]
) -> None:
    if len(grouped) < 2 or any(len(rows) > 1 for rows in grouped.values()):
        return
    if clocks.choose(log.rows, evals) in (None, "wandb"):
        raise UserError(
            f"{log.source}: this is a table of runs (one row a run: {some(list(grouped), 2)}), "
            "not a curve; export the chart of a metric or the history of each run instead"
        )
