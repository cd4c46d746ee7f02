"""``evalstop tune``: which settings of a rule are best, shown on runs that the search never saw."""

from collections.abc import Callable
from pathlib import Path

import typer

from evalstop import console
from evalstop.commands import tracked
from evalstop.commands.again import again
from evalstop.commands.curves import read_labelled
from evalstop.commands.options import (
    AS_JSON,
    BACKEND,
    DIRECTION,
    JOBS,
    LABELS_ARE,
    METRIC,
    POSITIVE,
    SCHEDULER,
    SEED,
    SELECT,
    STEP_EVERY,
    TRACK,
)
from evalstop.errors import UserError

TRIALS, SMOKE_TRIALS = 100, 16
RUNS, SMOKE_RUNS = 2000, 300
# What changes nothing of the results, or is nobody's business.
NOT_SHOWN = ("out", "jobs", "as_json", "storage", "backend", "scheduler_address", "track")


def tune(
    context: typer.Context,
    detector: str = typer.Option(
        ..., help="NAME[:field=value,...]; also field=low..high and field=a|b. Others are searched."
    ),
    trials: int | None = typer.Option(
        None,
        help=f"Settings to try (default {TRIALS}; all if there are fewer).",
        show_default=False,
    ),
    objective: str = typer.Option(
        "saved@fpr=.015", help="saved or recall @fpr=RATE, or multi: saved,fpr,delay."
    ),
    world: list[str] = typer.Option(
        [], help="World to tune on, NAME[:field=value,...]; the last third is held out; repeatable."
    ),
    curves: list[Path] = typer.Option([], help="Labelled curves instead of worlds; repeatable."),
    labels: str | None = typer.Option(None, help=LABELS_ARE),
    positive: str = POSITIVE,
    select: list[str] = SELECT,
    metric: list[str] = METRIC,
    direction: list[str] = DIRECTION,
    step_every: float | None = STEP_EVERY,
    sampler: str = typer.Option("auto", help="auto, grid, tpe, nsga2 or random."),
    runs: int | None = typer.Option(
        None, help=f"Runs of each world in a part (default {RUNS}).", show_default=False
    ),
    storage: str | None = typer.Option(
        None, help="Optuna URL (sqlite, PostgreSQL) for the trials; several may work on it."
    ),
    jobs: int = JOBS,
    backend: str = BACKEND,
    scheduler_address: str | None = SCHEDULER,
    seed: int = SEED,
    out: Path | None = typer.Option(
        None, "--out", help="Folder of the report (default evalstop-out/tune-NAME)."
    ),
    smoke: bool = typer.Option(False, "--smoke", help="A small part of it, in seconds."),
    track: bool = TRACK,
    as_json: bool = AS_JSON,
) -> None:
    """Search the fields of a detector, or go on where that was interrupted.

    Trials are scored on train runs, the winner is chosen on validation runs and shown on held-out
    runs. A rule that counts (k-decline) is also tried on many lengths and noises, unless worlds or
    curves are given.
    """
    from evalstop.detectors.settings import name_of
    from evalstop.studies.backends import workers
    from evalstop.studies.tuning.goal import read_goal
    from evalstop.studies.tuning.places import DEFAULT_WORLDS, curve_place, world_places
    from evalstop.studies.tuning.report import analyse, save
    from evalstop.studies.tuning.report import as_json as found_as_json
    from evalstop.studies.tuning.space import read_space
    from evalstop.studies.tuning.tune import Tuning
    from evalstop.studies.tuning.tune import tune as search
    from evalstop.studies.tuning.where import ask_where, counting_axis

    space, goal = read_space(detector), read_goal(objective)
    if curves and (world or runs is not None):
        raise UserError("--curves: --world and --runs do not go with them, leave them out")
    if labels and not curves:
        raise UserError("--labels: there are no curves to label, give --curves")
    if curves:
        if labels is None:
            raise UserError("--curves: which should be stopped? Give --labels COLUMN or FILE")
        labelled = read_labelled(curves, labels, positive, select, metric, direction, step_every)
        console.notes(labelled.notes)
        console.warnings(labelled.warnings)
        places = [curve_place(labelled, seed)]
    else:
        n_runs = (SMOKE_RUNS if smoke else RUNS) if runs is None else runs
        places = world_places(world or DEFAULT_WORLDS, n_runs)
    tuning = Tuning(
        space,
        goal,
        tuple(places),
        sampler,
        (SMOKE_TRIALS if smoke else TRIALS) if trials is None else trials,
        seed,
    )
    out = out or Path("evalstop-out") / f"tune-{name_of(space.base)}"
    axis = None if world or curves else counting_axis(space)
    where = None
    with workers(backend, scheduler_address, jobs) as n_workers, console.progress() as bar:

        def begin(name: str) -> Callable[[int, int], None]:
            task = bar.add_task(name, total=None)
            return lambda done, total: bar.update(task, completed=done, total=total)

        found = search(tuning, out, storage=storage, jobs=n_workers, advance=begin("trials"))
        if axis is not None:
            where = ask_where(
                *(space, axis, goal, out / "where"),
                seed=seed,
                jobs=n_workers,
                smoke=smoke,
                advance=begin("where"),
            )
    analysis = analyse(found, where)
    if where is not None:
        where.analysis().save(where.results.folder)
    files = save(found, where, out, again(context, *NOT_SHOWN))
    if as_json:
        console.print_json(found_as_json(found, where))
    else:
        for finding in analysis.findings:
            print("-", console.plain(finding))
        for each in analysis.tables:
            console.table(each.title, each.columns, each.rows)
    console.notes([f"seed {seed}"])
    console.say("wrote", f"{out}: {', '.join(file.name for file in files)}")
    if track:
        tracked.send(out)
