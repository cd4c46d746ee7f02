"""``evalstop calibrate``: the threshold that keeps a false-alarm budget, and what it promises."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evalstop import console
from evalstop.commands.curves import read_curves, split_pairs
from evalstop.commands.options import (
    AS_JSON,
    DIRECTION,
    METRIC,
    SEED,
    SELECT,
    SETTINGS,
    STEP_EVERY,
)
from evalstop.errors import UserError

if TYPE_CHECKING:
    from evalstop.detectors.calibration import Calibration, Null
    from evalstop.detectors.rules import Detector

METHODS = ("exact", "flat", "conformal")


def calibrate(
    detector: str = typer.Option("mann-kendall", help="NAME[:field=value,...] or path.py:Class."),
    settings: list[str] = SETTINGS,
    fpr: float = typer.Option(0.05, help="False stops allowed per run."),
    horizon: int | None = typer.Option(
        None, help="Evals per run that the promise covers; required.", show_default=False
    ),
    method: str | None = typer.Option(
        None,
        help="exact, flat (simulated converged runs) or conformal (--healthy); default: conformal "
        "with --healthy, else exact where that is known, else flat.",
        show_default=False,
    ),
    boundary: bool = typer.Option(
        False, "--boundary", help="A level for each eval: the promise holds for shorter runs too."
    ),
    sigma: float | None = typer.Option(
        None, help="flat: noise of one eval, in units of the score.", show_default=False
    ),
    rho: float | None = typer.Option(
        None, help="flat: correlation of successive evals (default 0).", show_default=False
    ),
    noise: str | None = typer.Option(
        None, help="flat: gaussian (default) or t3.", show_default=False
    ),
    runs: int | None = typer.Option(
        None, help="flat: runs to simulate (default 50000).", show_default=False
    ),
    healthy: list[Path] = typer.Option(
        [], help="conformal: logs of healthy runs to calibrate on; repeatable.", show_default=False
    ),
    blocks: bool = typer.Option(
        False, "--blocks", help="conformal: cut long runs into blocks of --horizon evals."
    ),
    select: list[str] = SELECT,
    metric: list[str] = METRIC,
    direction: list[str] = DIRECTION,
    step_every: float | None = STEP_EVERY,
    seed: int = SEED,
    as_json: bool = AS_JSON,
    out: Path | None = typer.Option(None, help="File for `evalstop watch --calibration`."),
) -> None:
    """Find the threshold with at most so many false stops per run, and say what it rests on."""
    from evalstop.detectors import DETECTORS
    from evalstop.detectors.calibration import save

    if horizon is None:
        raise UserError("--horizon: is missing, say how many evals per run the promise covers")
    rule = DETECTORS.build(detector, more=split_pairs(settings, "--set"), allow_path=True)
    of_noise = {"sigma": sigma, "rho": rho, "noise": noise, "runs": runs}
    given = {name: value for name, value in of_noise.items() if value is not None}
    of_healthy = {"healthy": healthy, "blocks": blocks, "select": select}
    chosen = method or _default(bool(healthy), bool(given) or boundary)
    _refuse(chosen, {"flat": list(given), "conformal": [n for n, v in of_healthy.items() if v]})
    if chosen == "conformal":
        null = _healthy(rule, healthy, blocks, select, metric, direction, step_every)
    else:
        null = _theory_or_noise(rule, chosen, {**given, "seed": seed})
    found = null.calibrate(fpr, horizon, boundary=boundary)
    console.warnings(_warnings(rule, found))
    if as_json:
        console.print_json({**asdict(found), "promise": found.promise})
    else:
        _show(found)
    if out is not None:
        save(found, out)
        console.say("wrote", out)


def _default(healthy: bool, of_noise: bool) -> str:
    """Choose a method from what is given; empty = exact where that is known, else flat."""
    if healthy:
        return "conformal"
    return "flat" if of_noise else ""


def _refuse(method: str, options: dict[str, list[str]]) -> None:
    """Refuse an unknown method, options of another one, and conformal without runs."""
    if method and method not in METHODS:
        raise UserError(f"--method {method}: say exact, flat or conformal")
    for owner, names in options.items():
        if names and method != owner:
            raise UserError(f"--{names[0]}: belongs to --method {owner}, leave one of them out")
    if method == "conformal" and "healthy" not in options["conformal"]:
        raise UserError("--method conformal: name the curves of healthy runs with --healthy")


def _theory_or_noise(rule: "Detector", method: str, options: dict[str, Any]) -> "Null":
    from evalstop.detectors.calibration import FlatNoise, FlatNull, best_null, exact_null

    noise, track = FlatNoise(**options), partial(console.tracked, description="flat noise")
    if method == "exact":
        return exact_null(rule, seed=noise.seed)
    return FlatNull(rule, noise, track) if method == "flat" else best_null(rule, noise, track)


def _healthy(
    rule: "Detector",
    healthy: list[Path],
    blocks: bool,
    select: list[str],
    metric: list[str],
    direction: list[str],
    step_every: float | None,
) -> "Null":
    from evalstop.detectors.calibration import HealthyNull

    curves = read_curves(healthy, metric, direction, step_every)
    chosen = curves.select(split_pairs(select, "--select"))
    return HealthyNull.of(rule, chosen, blocks=blocks)


def _warnings(rule: "Detector", found: "Calibration") -> list[str]:
    from evalstop.detectors.words import plural
    from evalstop.detectors.zoo.e_process import EProcess

    told = []
    if not found.can_fire:
        told.append(
            f"no alarm is possible within {plural(found.horizon, 'eval')} at this budget: take a "
            "larger --fpr or --horizon, or another detector"
        )
    if isinstance(rule, EProcess) and rule.horizon < found.horizon:
        told.append(
            f"e-process: sees falls that begin within {plural(rule.horizon, 'eval')} only, set "
            f"its horizon={found.horizon}"
        )
    return told


def _show(found: "Calibration") -> None:
    from evalstop.detectors.words import level, plural

    if isinstance(found.threshold, tuple):
        print(f"{console.plain(found.detector)}: stop when the statistic reaches, after eval")
        for n, threshold in enumerate(found.threshold, 1):
            print(f"{n:6d}  {level(threshold)}")
    else:
        at = level(found.threshold)
        print(f"{console.plain(found.detector)}: stop when the statistic reaches {at}")
    print(found.promise)
    if found.seed is not None and found.runs is not None:
        fresh = ", and as many fresh ones" if found.method == "flat" else ""
        print(f"seed {found.seed}, {plural(found.runs, 'simulated run')}{fresh}")
