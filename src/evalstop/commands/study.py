"""``evalstop study``: a named study, one of its points, or a study of one's own."""

from pathlib import Path

import typer

from evalstop.commands import tracked
from evalstop.commands.options import BACKEND, JOBS, SCHEDULER, SEED, TRACK


def study(
    which: str = typer.Argument(
        ..., metavar="NAME|FILE.toml", help="A study, or one of its points: noise, noise/3."
    ),
    jobs: int = JOBS,
    backend: str = BACKEND,
    scheduler_address: str | None = SCHEDULER,
    smoke: bool = typer.Option(False, "--smoke", help="A small part of it, in seconds."),
    out: Path | None = typer.Option(
        None, "--out", help="Folder of the results (default evalstop-out/NAME)."
    ),
    seed: int = SEED,
    track: bool = TRACK,
) -> None:
    """Run a study on all processors, or go on where it was interrupted; show what it says."""
    from evalstop.console import plain, progress, table
    from evalstop.detectors.storage import write_atomically
    from evalstop.detectors.words import plural
    from evalstop.studies.backends import workers
    from evalstop.studies.find import find
    from evalstop.studies.report import report
    from evalstop.studies.results import run_study

    found = find(which, smoke=smoke)
    with workers(backend, scheduler_address, jobs) as n_workers, progress() as bar:
        task = bar.add_task(found.study.name, total=None)
        results = run_study(
            found.study,
            out or Path("evalstop-out") / found.study.name,
            seed=seed,
            jobs=n_workers,
            point=found.point,
            advance=lambda done, total: bar.update(task, completed=done, total=total),
        )
    analysis = found.analyse(results)
    write_atomically(results.folder / "report.html", report(results, analysis))
    files = [
        *("report.html", *analysis.save(results.folder)),
        *("results.csv", "results.parquet", "study.json"),
    ]
    print(plain(f"{found.study.name}: {found.study.question}"))
    for finding in analysis.findings:
        print("-", plain(finding))
    print()
    for each in analysis.tables:
        table(each.title, each.columns, each.rows)
    repeated = plural(found.study.seeds, "repetition")
    print(f"seed {seed}, {repeated}; ± is half of a 95 % interval over them")
    print(f"{plain(results.folder)}: {', '.join(files)}")
    if track:
        tracked.send(results.folder)
