"""``evalstop leaderboard``: every stop rule on every world at the same price in false alarms."""

from pathlib import Path
from typing import TypeVar

import typer

from evalstop import console
from evalstop.commands.again import again
from evalstop.commands.options import AS_JSON, BACKEND, JOBS, SCHEDULER, SEED, TRACK
from evalstop.commands.tracked import send
from evalstop.errors import UserError

T = TypeVar("T", int, float)


def leaderboard(
    context: typer.Context,
    worlds: str = typer.Option(
        "all", help="Comma list of NAME[:field=value,...] and the rankings R1, R2, R3."
    ),
    detectors: str = typer.Option(
        "all", help="Comma list of NAME[:field=value,...]; all,path.py:Class adds one to all."
    ),
    fpr: str = typer.Option(".01,.015,.05", help="Comma list of false alarms per healthy run."),
    horizons: str = typer.Option("8,20", help="Comma list of evals per run; a board for each."),
    jobs: int = JOBS,
    backend: str = BACKEND,
    scheduler_address: str | None = SCHEDULER,
    smoke: bool = typer.Option(False, "--smoke", help="A small part of it, in a minute."),
    out: Path = typer.Option(Path("evalstop-out/leaderboard"), help="Folder of the report."),
    seed: int = SEED,
    as_json: bool = AS_JSON,
    track: bool = TRACK,
) -> None:
    """Rank stop rules over worlds, or go on where that was interrupted; write the report."""
    from evalstop.detectors.settings import split_specs
    from evalstop.detectors.words import plural
    from evalstop.studies.backends import workers
    from evalstop.studies.leaderboard.report import Report
    from evalstop.studies.leaderboard.run import compete, enter

    entries = enter(
        split_specs(worlds),
        split_specs(detectors),
        _numbers(horizons, "--horizons", int),
        _numbers(fpr, "--fpr", float),
    )
    with workers(backend, scheduler_address, jobs) as n_workers, console.progress() as bar:
        task = bar.add_task("leaderboard", total=None)
        found = compete(
            entries.smaller() if smoke else entries,
            out,
            seed=seed,
            jobs=n_workers,
            advance=lambda done, total: bar.update(task, completed=done, total=total),
        )
    report = Report(found)
    files = report.save(
        out, again(context, "out", "as_json", "jobs", "backend", "scheduler_address", "track")
    )
    if as_json:
        console.print_json(report.standings.to_dict("records"))
    else:
        for table in report.console_tables():
            console.table(table.title, table.columns, table.rows, dense=True)
        for finding in report.findings():
            print("-", console.plain(finding))
        repeated = plural(found.entries.seeds, "repetition")
        runs = plural(found.entries.runs, "run")
        print(
            f"seed {seed}, {repeated} of {runs} in each world; "
            "± is half of a 95 % interval over them"
        )
    for path in files:
        if path.suffix in (".html", ".csv"):
            console.say("wrote", path)
    if track:
        send(out)


def _numbers(text: str, option: str, kind: type[T]) -> list[T]:
    """Read numbers between commas."""
    try:
        read = [kind(piece) for piece in text.split(",") if piece.strip()]
    except ValueError:
        read = []
    if not read:
        raise UserError(f"{option}: must be numbers between commas, got {text!r}")
    return read
