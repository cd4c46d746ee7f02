"""``evalstop reproduce``: every table of the paper beside ours, and what it did not show."""

from collections.abc import Callable
from pathlib import Path

import typer

from evalstop.commands.options import BACKEND, JOBS, SCHEDULER, SEED, TRACK
from evalstop.commands.tracked import send


def reproduce(
    jobs: int = JOBS,
    backend: str = BACKEND,
    scheduler_address: str | None = SCHEDULER,
    smoke: bool = typer.Option(False, "--smoke", help="A small part of it, in a minute."),
    out: Path = typer.Option(Path("evalstop-out/reproduce"), "--out", help="Folder of the report."),
    seed: int = SEED,
    track: bool = TRACK,
) -> None:
    """Reproduce EvalStop's tables, or go on where that was interrupted; write the report."""
    from evalstop.console import plain, progress, table
    from evalstop.studies.backends import workers
    from evalstop.studies.reproduce import reproduce as run

    with workers(backend, scheduler_address, jobs) as n_workers, progress() as bar:

        def begin(name: str) -> Callable[[int, int], None]:
            task = bar.add_task(name, total=None)
            return lambda done, total: bar.update(task, completed=done, total=total)

        found = run(out, smoke=smoke, seed=seed, jobs=n_workers, begin=begin)
    rows = [
        (
            c.claim.section,
            c.claim.what,
            c.claim.paper,
            f"{c.ours:.3f} ({c.ours_low:.3f} to {c.ours_high:.3f})",
            c.verdict,
        )
        for c in found.checked
    ]
    table("", ("table", "claim", "paper", "ours, 95 % interval", "verdict"), rows)
    for name in ("main", "resubmission", "horizon", "real-noise"):
        for finding in next(p for p in found.parts if p.name == name).analysis.findings:
            print("-", plain(finding))
    print(f"seed {seed}")
    for path in found.save(out):
        print(f"wrote: {plain(path)}")
    if track:
        send(out)
