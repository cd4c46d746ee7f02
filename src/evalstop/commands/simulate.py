"""``evalstop simulate``: one cluster run."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from fractions import Fraction

    from evalstop.simulator import Run


def simulate(
    trace: Path = typer.Option(
        ..., help="Jobs: job_id,submit_time,gpus,duration[,type], or a known cluster trace."
    ),
    gpus: int = typer.Option(64, min=1, help="GPUs of the cluster."),
    scheduler: str = typer.Option(
        "srtf-est", help="NAME[:field=value,...] of `evalstop schedulers`, or path.py:Class."
    ),
    settings: list[str] = typer.Option(
        [], "--set", metavar="FIELD=VALUE", help="A setting of the scheduler; repeat for more."
    ),
    preemption_overhead: float = typer.Option(
        120, min=0, help="Seconds that a resumed job pays, holding its GPUs."
    ),
    save_delay: float = typer.Option(
        0, min=0, help="Seconds that a preempted job holds its GPUs to save."
    ),
    scale_gpus: str = typer.Option("1", help="Factor of every job's GPUs: 1/16."),
    estimate_error: float = typer.Option(
        0.3, min=0, help="Sd of the log of estimated over true duration."
    ),
    seed: int = typer.Option(0, min=0, help="Of estimates and training losses."),
    out: Path | None = typer.Option(None, help="CSV to write, one row for each job."),
    plot: bool = typer.Option(
        False, help="Draw utilisation, queue and Gantt chart as SVG, beside --out."
    ),
    as_json: bool = typer.Option(False, "--json", help="For a program to read."),
) -> None:
    """Run the jobs of a trace on a cluster; times in seconds."""
    from evalstop import simulator
    from evalstop.console import notes, progress, warnings
    from evalstop.simulator.report import write_jobs
    from evalstop.simulator.traces import read_trace

    policy = simulator.build_policy(scheduler, _pairs(settings), outside=True)
    workload = read_trace(
        trace, scale_gpus=_fraction(scale_gpus), estimate_error=estimate_error, seed=seed
    )
    with progress() as bar:
        bar.add_task(f"{len(workload)} jobs", total=None)
        run = simulator.simulate(
            workload,
            policy,
            gpus,
            overhead=_seconds("--preemption-overhead", preemption_overhead),
            save_delay=_seconds("--save-delay", save_delay),
            seed=seed,
        )
    told = [*workload.notes]
    if policy.reads_losses:
        told.append("the trace has no training losses: they are simulated")
    if out:
        write_jobs(run, out)
    if plot:
        from evalstop.simulator.plots import plot_run

        picture = out.with_suffix(".svg") if out else Path("simulate.svg")
        plot_run(run, picture)
        told.append(f"the figure is {picture}")
    notes(told)
    warnings(simulator.load_warnings(run))
    _show(run, seed, as_json=as_json)


def _show(run: "Run", seed: int, *, as_json: bool) -> None:
    """Print the numbers of a run; `simulate` has checked conservation, or there is no run."""
    from evalstop.console import print_json, table
    from evalstop.simulator import summarise

    summary = summarise(run)
    if as_json:
        print_json({**summary.as_dict(), "conserved": True, "seed": seed})
        return
    times = ("mean", "p50", "p95", "p99")
    rows = [
        ("JCT " + ", ".join(times), _hours(*(getattr(summary, f"jct_{t}") for t in times))),
        ("wait mean, p95", _hours(summary.wait_mean, summary.wait_p95)),
        ("makespan", _hours(summary.makespan)),
        ("offered load", f"{summary.offered_load:.3g}"),
        ("utilisation", f"{summary.utilisation:.1%}"),
        ("preemptions", f"{summary.preemptions}"),
        ("GPU-hours of work", f"{summary.work_gpu_hours:,.1f}"),
        ("GPU-hours of overhead", f"{summary.overhead_gpu_hours:,.1f}"),
        ("conservation", "checked: all work done, no GPU used twice"),
        ("seed", f"{seed}"),
    ]
    table(f"{run.scheduler} on {run.gpus} GPUs, {summary.jobs} jobs", ("", "value"), rows)


def _hours(*seconds: float) -> str:
    return ", ".join(f"{s:,.1f}" for s in seconds) + " s"


def _pairs(settings: list[str]) -> dict[str, str]:
    """Split ``field=value`` settings."""
    from evalstop.errors import UserError

    pairs = {}
    for text in settings:
        field, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--set {text}: write it as field=value")
        pairs[field.strip()] = value.strip()
    return pairs


def _seconds(option: str, value: float) -> float:
    """Keep a whole or decimal number of seconds exact."""
    from evalstop.errors import UserError
    from evalstop.simulator.exact import exact, written

    try:
        return exact(written(value))
    except ValueError:
        raise UserError(f"{option} {value}: give a finite number of seconds") from None


def _fraction(text: str) -> "Fraction":
    """Read ``1/16`` or ``0.5``."""
    from fractions import Fraction

    from evalstop.errors import UserError

    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UserError(f"--scale-gpus {text}: write a fraction such as 1/16") from None
