"""``evalstop watch``: which run to stop tonight, and which checkpoint to keep."""

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evalstop.commands.curves import read_curves
from evalstop.commands.options import AS_JSON, DIRECTION, METRIC, PATHS, SEED, STEP_EVERY
from evalstop.commands.read import split_directions
from evalstop.console import make_table, notes, plain, print_json, say, table, tracked, warnings
from evalstop.errors import UserError
from evalstop.sparkline import sparkline

if TYPE_CHECKING:
    from rich.console import Group

    from evalstop.detectors.logs import Curve, Reading
    from evalstop.detectors.logs.eval_runs import EvalRuns
    from evalstop.detectors.rules import Detector
    from evalstop.detectors.stop_rules import NullOf, Rule
    from evalstop.detectors.watching import Watched

    Judge = Callable[[EvalRuns], tuple[list[Watched], list[str]]]

STOP, GO_ON, UNREADABLE = 10, 0, 2
FOLLOWED_EVALS = 40  # horizon of the budget while nobody knows how long a run will be
ONE_LOOK = "thresholds are for one look; to look again as runs grow, give --horizon"
MOST_PROMISES = 3  # lines, of one rule
COLUMNS = ("run", "metric", "evals", "best score", "at step", "statistic", "verdict", "curve")


def watch(
    paths: list[Path] = PATHS,
    metric: list[str] = METRIC,
    direction: list[str] = DIRECTION,
    step_every: float | None = STEP_EVERY,
    detector: str | None = typer.Option(None, help="NAME[:field=value,...] or path.py:Class."),
    threshold: float | None = typer.Option(None, help="Alarm when the statistic reaches it."),
    fpr: float | None = typer.Option(None, help="False stops allowed per run (default .05)."),
    horizon: int | None = typer.Option(
        None, help="Evals per run that the promise covers (default: all there are, for one look)."
    ),
    calibration: Path | None = typer.Option(None, help="What `evalstop calibrate --out` wrote."),
    fdr: float | None = typer.Option(None, help="Share of wrong stops allowed over all runs."),
    healthy: list[Path] = typer.Option(
        [], help="Logs of healthy runs to calibrate on; repeatable."
    ),
    sigma: float | None = typer.Option(None, help="Noise of one eval, in units of the score."),
    seed: int = SEED,
    follow: bool = typer.Option(False, "--follow", help="Keep reading logs that still grow."),
    every: float = typer.Option(10.0, min=0.05, help="Seconds between readings (--follow)."),
    state: Path | None = typer.Option(
        None, help="Memory of --follow, a file (default: in evalstop-out, by paths and metrics)."
    ),
    as_json: bool = AS_JSON,
) -> int:
    """Say which runs should stop, since when, and which checkpoint to keep.

    Exit status: 10 = at least one run should stop, 0 = go on, 2 = a path could not be read.

    The default --detector is mann-kendall: a run should stop when its evals fall more surely than
    those of 95 % of the converged runs of its length.
    """
    from evalstop.detectors.logs import read_logs
    from evalstop.detectors.stop_rules import BUDGET
    from evalstop.detectors.zoo import DETECTORS

    named = DETECTORS.build(detector, allow_path=True) if detector else None
    null_of = _null_of(healthy, metric, direction, step_every, sigma, seed)
    if fdr is not None:
        if follow or any(v is not None for v in (threshold, fpr, horizon, calibration)):
            raise UserError(
                "--fdr: it looks at all runs once and is a budget of its own, leave --follow, "
                "--fpr, --horizon, --threshold and --calibration out"
            )
        judge = _fleet_judge(named, null_of, fdr)
    else:
        if fpr is None and threshold is None and calibration is None and (healthy or sigma):
            fpr = BUDGET
        if follow and horizon is None:
            horizon = FOLLOWED_EVALS
        judge = _judge_of_each(named, threshold, fpr, horizon, calibration, null_of)
    directions = split_directions(direction)

    def read() -> "Reading":
        return read_logs(
            paths, metrics=metric, directions=directions, step_every=step_every, growing=follow
        )

    if follow:
        return _follow(read, judge, state or _memory(paths, metric), every, as_json=as_json)
    reading = read()
    watched, told = _judge(reading, judge)
    grows_with_runs = [horizon, threshold, calibration, fdr] == [None] * 4 and (fpr or not named)
    notes([*reading.notes, *([ONE_LOOK] if grows_with_runs and watched else [])])
    warnings([*reading.warnings, *told])
    for sentence in reading.failed:
        say("error", sentence)
    if as_json:
        print_json([w.record() for w in watched])
    else:
        table("", COLUMNS, map(_row, watched))
        for promise in _promises(watched):
            print(promise)
    return _status(watched, failed=bool(reading.failed))


def _null_of(
    healthy: list[Path],
    metric: list[str],
    direction: list[str],
    step_every: float | None,
    sigma: float | None,
    seed: int,
) -> "NullOf":
    """Say where what is known of runs that should not be stopped comes from."""
    from evalstop.detectors.calibration import FlatNoise, HealthyNull, best_null

    if healthy:
        return partial(HealthyNull.of, evals=read_curves(healthy, metric, direction, step_every))
    track = partial(tracked, description="flat noise")
    return partial(best_null, noise=FlatNoise(sigma=sigma, seed=seed), track=track)


def _judge_of_each(
    detector: "Detector | None",
    threshold: float | None,
    fpr: float | None,
    horizon: int | None,
    calibration: Path | None,
    null_of: "NullOf",
) -> "Judge":
    """Judge every run by itself, at a threshold."""
    from evalstop.detectors.calibration import load
    from evalstop.detectors.stop_rules import calibrated, rule_for_runs
    from evalstop.detectors.watching import judge

    if calibration is None:
        rule_for = rule_for_runs(detector, threshold, fpr, horizon, null_of)
    else:
        if threshold is not None or fpr is not None:
            raise UserError(
                "--calibration: it holds the threshold, leave --threshold and --fpr out"
            )
        rule = calibrated(load(calibration), detector)

        def rule_for(_n_evals: int) -> "Rule":
            return rule

    def judge_each(found: "EvalRuns") -> tuple[list["Watched"], list[str]]:
        return judge(found, rule_for), []

    return judge_each


def _fleet_judge(detector: "Detector | None", null_of: "NullOf", fdr: float) -> "Judge":
    """Judge all runs together, so that few of the stops are wrong."""
    from evalstop.detectors.stop_rules import DEFAULT
    from evalstop.detectors.watching import judge_fleet

    rule = detector or DEFAULT
    return lambda found: judge_fleet(found, rule, null_of(rule), fdr)


def _judge(reading: "Reading", judge: "Judge") -> tuple[list["Watched"], list[str]]:
    """Judge the curves of known direction; say which were left out."""
    from evalstop.detectors.logs.eval_runs import eval_runs

    def judged(curve: "Curve") -> bool:
        return curve.role != "eval" or curve.higher_is_better is not None

    told = [
        f"{metric}: the log does not tell which way it is better, it is left out; "
        f"add --direction {metric}=higher (or lower)"
        for metric in sorted({c.metric for c in reading.curves if not judged(c)})
    ]
    left = replace(reading, curves=[c for c in reading.curves if judged(c)])
    if told and not any(c.role == "eval" for c in left.curves):
        raise UserError(told[0].replace("it is left out", "and no other eval is left"))
    watched, more = judge(eval_runs(left))
    beyond = [w.beyond for w in watched if w.beyond]
    return watched, [*told, *more, *beyond, *_split(watched)]


def _split(watched: Iterable["Watched"]) -> list[str]:
    """Say that runs should stop by one metric and not by another: which one counts is not ours."""
    from evalstop.detectors.words import plural

    metrics: dict[str, tuple[list[str], list[str]]] = {}
    for w in watched:
        metrics.setdefault(w.curve.run, ([], []))[not w.stop].append(w.curve.metric)
    split = {run: both for run, both in metrics.items() if all(both)}
    if not split:
        return []
    run, (stops, goes_on) = next(iter(split.items()))
    return [
        f"{plural(len(split), 'run')} should stop by one metric and not by another "
        f"({run}: {stops[0]}, not {goes_on[0]}); name the one that you trust with --metric"
    ]


def _status(watched: Iterable["Watched"], *, failed: bool = False) -> int:
    if any(w.stop for w in watched):
        return STOP
    return UNREADABLE if failed else GO_ON


def _row(watched: "Watched") -> tuple[object, ...]:
    verdict, score = watched.verdict, watched.best_score
    return (
        watched.curve.run,
        watched.curve.metric,
        verdict.n_seen + verdict.n_missing,
        "-" if score is None else f"{score:.4g}",
        "-" if verdict.best_step is None else f"{verdict.best_step:.10g}",
        _measured(watched),
        watched.word,
        sparkline(watched.curve.values.tolist(), width=20),
    )


def _measured(watched: "Watched") -> str:
    """Say what is held against what."""
    from evalstop.detectors.words import level

    if watched.evidence is not None:
        return f"{watched.evidence.kind} = {watched.evidence.value:.2g}"
    told = watched.verdict.statistic
    if watched.cannot_fire or told == -inf:
        return "-"
    return f"{told:.3g} / {level(watched.threshold, '.3g')}"


def _promises(watched: Iterable["Watched"]) -> list[str]:
    """Say what each rule that can fire promises: of many lengths of runs the ends."""
    from evalstop.detectors.settings import spec_of
    from evalstop.detectors.words import plural

    told: dict[str, dict[str, int]] = {}
    for w in watched:
        if not w.cannot_fire:
            horizon = w.rule.calibration.horizon if w.rule.calibration else 0
            promise = w.promise or "no promise was calibrated"
            told.setdefault(spec_of(w.rule.detector), {})[promise] = horizon
    lines = []
    for rule, by_promise in told.items():
        promises = sorted(by_promise, key=by_promise.__getitem__)
        if len(promises) > MOST_PROMISES:
            between = plural(len(promises) - 2, "length")
            promises[1:-1] = [f"the same for {between} between, each with its own threshold"]
        lines += [f"{rule}: {promise}" for promise in promises]
    return lines


def _memory(paths: Iterable[Path], metrics: Iterable[str]) -> Path:
    """Name the file in which a watch of these logs remembers them, and no other watch does."""
    told = "\n".join([*sorted({str(p.resolve()) for p in paths}), *sorted(set(metrics))])
    return Path(f"evalstop-out/watch-{hashlib.sha256(told.encode()).hexdigest()[:8]}.json")


def _follow(
    read: Callable[[], "Reading"],
    judge: "Judge",
    state: Path,
    every: float,
    *,
    as_json: bool,
) -> int:
    """Read again and again, until every run should stop or somebody presses Ctrl-C."""
    from rich.console import Console
    from rich.live import Live

    from evalstop.detectors.following import Followed

    followed = Followed(state)
    watched: list[Watched] = []
    said: set[str] = set()
    shown: dict[tuple[str, str, str], str] = {}

    def once(level: str, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            if sentence not in said:
                said.add(sentence)
                say(level, sentence)

    screen = Console()
    live = Live(console=screen, auto_refresh=False) if screen.is_terminal and not as_json else None
    try:
        if live:
            live.start()
        while True:
            try:
                reading = followed.merge(read())
                watched, told = _judge(reading, judge)
            except UserError as problem:  # not there yet, or caught in the middle of a write
                once("warning", [f"{problem}; trying again"])
            else:
                followed.save()
                once("note", reading.notes)
                once("warning", [*reading.warnings, *reading.failed, *told])
                if live:
                    live.update(_screen(watched), refresh=True)
                else:
                    _say_changes(watched, shown, as_json=as_json)
                if watched and all(w.stop for w in watched):
                    return STOP
            time.sleep(every)
    except KeyboardInterrupt:
        return _status(watched)
    finally:
        if live:
            live.stop()


def _screen(watched: list["Watched"]) -> "Group":
    from rich.console import Group
    from rich.text import Text

    promises = [Text(promise) for promise in _promises(watched)]
    return Group(make_table("", COLUMNS, map(_row, watched)), *promises)


def _say_changes(
    watched: Iterable["Watched"], shown: dict[tuple[str, str, str], str], *, as_json: bool
) -> None:
    """Print a line for each curve whose verdict is not what was printed last."""
    for w in watched:
        key = (w.curve.source, w.curve.run, w.curve.metric)
        if shown.get(key) == w.word:
            continue
        shown[key] = w.word
        if as_json:
            print_json(w.record(), one_line=True)
        else:
            keep = (
                "" if w.verdict.best_step is None else f" (best: step {w.verdict.best_step:.10g})"
            )
            print(plain(f"{w.curve.run} / {w.curve.metric}: {w.word}{keep}"), flush=True)
