"""``evalstop simulate``: one cluster run."""

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from evalstop.commands.curves import split_pairs
from evalstop.commands.options import AS_JSON, SEED
from evalstop.commands.stop_rule import Asked, as_dict, make_rule, rows
from evalstop.errors import UserError

if TYPE_CHECKING:
    from fractions import Fraction

    from evalstop.benchmarks.priced import Priced
    from evalstop.simulator import Run, Workload
    from evalstop.simulator.presets import Scenario
    from evalstop.simulator.worlds.world import World

TENANTS = 10
"""So many are shown; all of them are in the JSON."""


def simulate(
    trace: Path | None = typer.Option(
        None, help="Jobs: job_id,submit_time,gpus,duration[,type], or a known cluster trace."
    ),
    preset: str | None = typer.Option(
        None, help="NAME[:field=value,...] of `evalstop presets` in place of a trace."
    ),
    gpus: int | None = typer.Option(
        None, min=1, help="GPUs of the cluster (default 64, or the preset's).", show_default=False
    ),
    scheduler: str = typer.Option(
        "srtf-est", help="NAME[:field=value,...] of `evalstop schedulers`, or path.py:Class."
    ),
    settings: list[str] = typer.Option(
        [], "--set", metavar="FIELD=VALUE", help="A setting of the scheduler; repeatable."
    ),
    preemption_overhead: float | None = typer.Option(
        None,
        min=0,
        help="Seconds that a resumed job pays, holding its GPUs (default 120, or the preset's).",
        show_default=False,
    ),
    save_delay: float = typer.Option(
        0, min=0, help="Seconds that a preempted job holds its GPUs to save."
    ),
    scale_gpus: str = typer.Option("1", help="Factor of every job's GPUs in the trace: 1, 1/16."),
    estimate_error: float | None = typer.Option(
        None,
        min=0,
        max=5,
        help="Sd of the log of estimated over true duration (default 0.3, or the preset's).",
        show_default=False,
    ),
    world: str | None = typer.Option(
        None,
        help="World of the jobs' runs: NAME[:field=value,...] of `evalstop presets`.",
    ),
    rlhf_share: float | None = typer.Option(
        None, min=0, max=1, help="Share of RLHF jobs; types are drawn, half of the rest each."
    ),
    stop: str = typer.Option(
        "never", help="NAME[:field=value,...] of `evalstop detectors`, path.py:Class, or oracle."
    ),
    threshold: float | None = typer.Option(
        None, help="Alarm when the statistic reaches it (default: the rule's own)."
    ),
    fpr: float | None = typer.Option(
        None, help="False alarms allowed per healthy run, in place of --threshold."
    ),
    stop_types: str = typer.Option("RLHF", help="Comma list of types that may be stopped, or all."),
    on_alarm: str = typer.Option("stop", help="stop, or deprioritise: behind all other jobs."),
    reaction_delay: float = typer.Option(0, min=0, help="Seconds from an alarm to its effect."),
    resubmit: str = typer.Option(
        "never", help="Healthy jobs that were stopped come again: never, restart, resume."
    ),
    wrong_stop_cost: float = typer.Option(
        0, min=0, help="GPU-hours that a wrong stop costs, for the cost of the run."
    ),
    seed: int = SEED,
    out: Path | None = typer.Option(None, help="CSV file to write, one row for each job."),
    plot: bool = typer.Option(
        False, "--plot", help="Draw utilisation, queue and Gantt chart as SVG, beside --out."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Run the jobs of a trace or a preset on a cluster, with or without a stop rule.

    Times are in seconds. With a stop rule the same jobs are run without it too, to compare.
    """
    from evalstop import console, simulator
    from evalstop.detectors.words import plural
    from evalstop.simulator.report import write_jobs

    policy = simulator.build_policy(scheduler, split_pairs(settings, "--set"), outside=True)
    if preset is not None:
        if trace is not None or scale_gpus != "1":
            raise UserError("--preset: it has jobs of its own, leave --trace and --scale-gpus out")
        given = _preset(preset, world, seed, rlhf_share=rlhf_share, estimate_sd=estimate_error)
    elif trace is not None:
        scale, error = _fraction(scale_gpus), 0.3 if estimate_error is None else estimate_error
        given = _trace(trace, world, seed, scale=scale, error=error, rlhf_share=rlhf_share)
    else:
        raise UserError("simulate: there are no jobs, give --trace FILE or --preset NAME")
    rule = None
    if stop == "never" and (threshold is not None or fpr is not None):
        raise UserError("--threshold, --fpr: name the rule that they belong to with --stop")
    if stop != "never":
        asked = Asked(stop, threshold, fpr, stop_types, on_alarm, reaction_delay, resubmit)
        rule = make_rule(asked, policy, given.world, seed)
        console.notes(rule.notes)
        console.warnings(rule.warnings)

    overhead = given.overhead if preemption_overhead is None else preemption_overhead
    run_with = partial(
        simulator.simulate,
        given.workload,
        policy,
        given.gpus if gpus is None else gpus,
        overhead=_seconds("--preemption-overhead", overhead),
        save_delay=_seconds("--save-delay", save_delay),
        seed=seed,
    )
    with console.progress() as bar:
        bar.add_task(plural(len(given.workload), "job"), total=None)
        run = base = run_with()
        if rule and given.scenario:
            run = run_with(stops=rule.rule.stops(given.scenario))
    told = [*given.workload.notes]
    if policy.reads_losses:
        told.append("the training losses that the scheduler reads are simulated")
    if out:
        write_jobs(run, out)
    if plot:
        from evalstop.simulator.plots import plot_run

        picture = out.with_suffix(".svg") if out else Path("simulate.svg")
        plot_run(run, picture)
        told.append(f"the figure is {picture}")
    console.notes(told)
    console.warnings(simulator.load_warnings(run))
    priced = None
    if rule and given.scenario:
        from evalstop.benchmarks.priced import price

        priced = price(rule.rule, given.scenario, base, run)
    shown = {"stop": rule and stop, "wrong_stop_cost": wrong_stop_cost, "seed": seed}
    _show(run, priced, shown, as_json=as_json)


class Given(NamedTuple):
    """The jobs, the runs behind them if there are any, and the cluster that they are meant for."""

    workload: "Workload"
    scenario: "Scenario | None" = None
    world: "World | None" = None
    gpus: int = 64
    overhead: float = 120


def _preset(spec: str, world: str | None, seed: int, **settings: float | None) -> Given:
    """Draw the jobs of a preset."""
    from evalstop.simulator.presets import build_preset
    from evalstop.simulator.worlds import build_world

    changed = {name: str(value) for name, value in settings.items() if value is not None}
    preset = build_preset(spec, changed, outside=True)
    source = build_world(preset.world if world is None else world, outside=True)
    scenario = preset.draw(seed, source)
    return Given(scenario.workload, scenario, source, preset.gpus, preset.overhead)


def _trace(
    path: Path,
    world: str | None,
    seed: int,
    *,
    scale: "Fraction",
    error: float,
    rlhf_share: float | None,
) -> Given:
    """Read the jobs of a trace; with a world there is a run behind each."""
    from evalstop.simulator.presets import overlay
    from evalstop.simulator.traces import read_trace
    from evalstop.simulator.worlds import build_world

    workload = read_trace(path, scale_gpus=scale, estimate_error=error, seed=seed)
    if world is None:
        if rlhf_share is not None:
            raise UserError("--rlhf-share: it says which runs a world draws, give --world too")
        return Given(workload)
    source = build_world(world, outside=True)
    scenario = overlay(workload, source, seed, rlhf_share)
    return Given(scenario.workload, scenario, source)


def _show(run: "Run", priced: "Priced | None", shown: dict[str, Any], *, as_json: bool) -> None:
    """Print the numbers of a run; `simulate` has checked conservation, or there is no run."""
    from evalstop.console import print_json, table
    from evalstop.detectors.words import plural
    from evalstop.simulator import summarise
    from evalstop.simulator.accounting import fairness

    summary, tenants = summarise(run), fairness(run)
    stop, wrong_stop, seed = shown["stop"], shown["wrong_stop_cost"], shown["seed"]
    if as_json:
        told: dict[str, Any] = {**summary.as_dict(), "conserved": True, "seed": seed}
        told["tenants"] = {name: tenant._asdict() for name, tenant in tenants.items()}
        if priced:
            told["stop"] = {"rule": stop, **as_dict(priced, wrong_stop)}
        print_json(told)
        return
    times = ("mean", "p50", "p95", "p99")
    lines = [
        ("JCT " + ", ".join(times), _hours(*(getattr(summary, f"jct_{t}") for t in times))),
        ("wait mean, p95", _hours(summary.wait_mean, summary.wait_p95)),
        ("makespan", _hours(summary.makespan)),
        ("offered load", _load(summary.offered_load)),
        ("utilisation", f"{summary.utilisation:.1%}"),
        ("preemptions", f"{summary.preemptions}"),
        ("GPU-hours of work", f"{summary.work_gpu_hours:,.1f}"),
        ("GPU-hours of overhead", f"{summary.overhead_gpu_hours:,.1f}"),
        ("rho mean, p95", f"{summary.rho_mean:.2f}, {summary.rho_p95:.2f}"),
        *(rows(priced, wrong_stop) if priced else ()),
        ("conservation", "checked: all work done, no GPU used twice"),
        ("seed", f"{seed}"),
    ]
    title = f"{run.scheduler} on {plural(run.gpus, 'GPU')}, {plural(summary.jobs, 'job')}"
    table(f"{title}, stops by {stop}" if priced else title, ("", "value"), lines)
    if len(tenants) > 1:
        unfair = sorted(tenants.items(), key=lambda named: -named[1].rho_mean)
        rest = len(unfair) - TENANTS
        table(
            f"{TENANTS} of {len(unfair)} tenants" if rest > 0 else "tenants",
            ("tenant", "jobs", "JCT mean, s", "rho mean"),
            [(name, *tenant) for name, tenant in unfair[:TENANTS]],
        )


def _load(load: float) -> str:
    return f"{load:.3g}" if load < math.inf else "all jobs arrive at once"


def _hours(*seconds: float) -> str:
    return ", ".join(f"{s:,.1f}" for s in seconds) + " s"


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
