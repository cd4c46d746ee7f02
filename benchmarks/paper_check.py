"""The preset `paper` against the numbers it was fitted to, and what the paper did not measure.

``python -m evalstop.benchmarks.paper_check --seeds 50 --jobs 2``: every row is a stop rule around a
scheduler, on the same jobs as that scheduler alone; means over seeds with 95 % intervals. With
``--golden paper_preset.json`` a row is marked DIFFERS where it is further from the fitted numbers
than 4 standard errors of both. With ``--trace FILE`` the jobs are those of a trace, with runs of
the preset's world behind them.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from evalstop.benchmarks.priced import Priced, price, threshold_for
from evalstop.detectors.observation import FloatArray
from evalstop.detectors.settings import spec_of
from evalstop.simulator import Run, build_policy, simulate
from evalstop.simulator.evalstop import EvalStop
from evalstop.simulator.presets import Preset, Scenario, build_preset, overlay
from evalstop.simulator.stoppers import STOPPERS, Oracle
from evalstop.simulator.traces import read_trace
from evalstop.simulator.worlds import build_world

HOUR = 3600.0
MATCHED_FPR = 0.015 * 0.52 / 0.32
"""1.5 % of the jobs that are not hacking, as a share of those that may be stopped: 32 of 52 %."""

NUMBERS = {
    "precision": "precision %",
    "recall": "recall %",
    "fpr_all": "FPR all %",
    "fpr_healthy": "FPR healthy %",
    "last_only": "last-only %",
    "waste_cut": "waste cut %",
    "jct_gain": "JCT gain %",
    "jct_matched": "of the others %",
    "jct_p95": "of p95 %",
    "gpu_time": "GPU-time %",
    "wrongly_stopped": "wrong stops",
    "base_jct_h": "JCT alone, h",
}
"""What is measured of every row, and how its column is called; the last two are no shares."""


@dataclass(frozen=True)
class Row:
    """A rule around a scheduler."""

    scheduler: str
    stopper: str
    matched: bool = False  # its threshold at MATCHED_FPR instead of its own
    on_alarm: str = "stop"
    reaction_delay: float = 0
    resubmit: str = "never"

    @property
    def name(self) -> str:
        """Say what is done."""
        more = ["deprioritise"] if self.on_alarm != "stop" else []
        more += [f"after {self.reaction_delay / HOUR:g} h"] if self.reaction_delay else []
        more += [self.resubmit] if self.resubmit != "never" else []
        more += ["at equal FPR"] if self.matched else []
        return ", ".join([self.stopper, *more])


K2 = "k-decline:k=2"
SRTF = "srtf-est"
FITTED = {
    "fifo-skip": "FIFO",
    "sjf-est-skip": "SJF-Est",
    SRTF: "SRTF-Est",
    "loss-aware:rate=given": "LossAware",
}
"""Our names of the schedulers whose gains the preset was fitted to."""

COMPOSED = tuple(Row(scheduler, K2) for scheduler in FITTED)
OTHERS = tuple(Row(scheduler, K2) for scheduler in ("tiresias", "pollux", "loss-aware"))
RULES = tuple(
    Row(SRTF, stopper)
    for stopper in ("stop-at:progress=0.65", "fixed-progress:progress=0.65", "loss-plateau")
)
ACTIONS = (
    Row(SRTF, K2, on_alarm="deprioritise"),
    Row(SRTF, K2, reaction_delay=1 * HOUR),
    Row(SRTF, K2, reaction_delay=8 * HOUR),
    Row(SRTF, K2, resubmit="restart"),
    Row(SRTF, K2, resubmit="resume"),
    Row(SRTF, "stop-at:progress=0.65", resubmit="restart"),
    Row(SRTF, "stop-at:progress=0.65", resubmit="resume"),
)
BETTER = (
    Row(SRTF, "slope-glr", matched=True),
    Row(SRTF, "ewma-drawdown:weight=0.5", matched=True),
    Row(SRTF, "unimodal-glr", matched=True),
    Row(SRTF, "oracle"),
)
ROWS = (*COMPOSED, *OTHERS, *RULES, *ACTIONS, *BETTER)


@dataclass(frozen=True)
class Overlay:
    """Jobs of a trace with runs of a world, in place of a preset; estimates and runs are drawn."""

    trace: Path
    world: str
    gpus: int
    rlhf_share: float = 0.8
    overhead: float = 120

    def draw(self, seed: int) -> Scenario:
        """Draw estimates, types and runs."""
        workload = read_trace(self.trace, estimate_error=0.3, seed=seed)
        return overlay(workload, build_world(self.world), seed, self.rlhf_share)


def rules(jobs: Preset | Overlay, rows: Sequence[Row], seed: int) -> list[EvalStop]:
    """Make the rules of the rows; thresholds are set on healthy runs of the world of the jobs."""
    world, made = build_world(jobs.world), []
    for row in rows:
        stopper = STOPPERS.build(row.stopper)
        threshold = None
        if row.matched:
            assert not isinstance(stopper, Oracle)
            threshold = threshold_for(stopper, world, MATCHED_FPR, seed)
        rule = EvalStop(
            build_policy(row.scheduler),
            stopper,
            threshold,
            on_alarm=row.on_alarm,
            reaction_delay=row.reaction_delay,
            resubmit=row.resubmit,
        )
        made.append(rule)
    return made


def measure(jobs: Preset | Overlay, made: Sequence[EvalStop], seed: int) -> FloatArray:
    """Give `NUMBERS` of every rule on the jobs of one seed: ``(n_rules, n_numbers)``."""
    scenario, base = jobs.draw(seed), {}
    found = []
    for rule in made:
        scheduler = spec_of(rule.base)
        if scheduler not in base:
            base[scheduler] = simulate(
                scenario.workload, rule.base, jobs.gpus, overhead=jobs.overhead, seed=seed
            )
        run = rule.simulate(scenario, jobs.gpus, overhead=jobs.overhead, seed=seed)
        found.append(_numbers(price(rule, scenario, base[scheduler], run), base[scheduler]))
    return np.array(found)


def _numbers(priced: Priced, base: Run) -> list[float]:
    scores, bill, gain = priced
    return [
        *(scores.precision, scores.recall, scores.fpr_all, scores.fpr_healthy, scores.last_only),
        *(gain.waste, gain.jct, gain.jct_matched, gain.jct_p95, gain.gpu_time),
        *(bill.wrongly_stopped, float(base.jct.mean()) / HOUR),
    ]


class Estimate(NamedTuple):
    """A mean over seeds and its standard error."""

    mean: float
    error: float

    def agrees(self, golden: "Estimate") -> bool:
        """Tell whether two means are within 4 standard errors of both."""
        return abs(self.mean - golden.mean) <= 4 * math.hypot(self.error, golden.error)

    def written(self, number: str) -> str:
        """Write it with its 95 % interval; shares in percent."""
        scale = 1 if NUMBERS[number] in {"wrong stops", "JCT alone, h"} else 100
        return f"{scale * self.mean:.1f} ±{scale * 1.96 * self.error:.1f}"


def estimates(found: FloatArray) -> list[dict[str, Estimate]]:
    """Give the estimates of every row from ``(n_seeds, n_rows, n_numbers)``."""
    means = found.mean(axis=0)
    errors = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    return [
        {n: Estimate(*both) for n, both in zip(NUMBERS, zip(m, e, strict=True), strict=True)}
        for m, e in zip(means.tolist(), errors.tolist(), strict=True)
    ]


def golden(path: Path) -> dict[Row, dict[str, Estimate]]:
    """Read the fitted numbers of the rows of `COMPOSED`."""
    told = json.loads(path.read_text(encoding="utf-8"))
    found, gains = (
        told["detection_300_workloads_mean_ci95"],
        told["system_expected_300_fresh_seeds"],
    )
    names = {"fpr_all": "fpr_all", "tp_last_only": "last_only", "fpr_healthy_rlhf": "fpr_healthy"}
    names |= {"precision": "precision", "recall": "recall", "post_peak_waste_cut": "waste_cut"}
    detection = {ours: _from_interval(*found[theirs]) for theirs, ours in names.items()}
    return {
        row: detection | {"jct_gain": _from_interval(gain["gain_mean"], gain["ci95"])}
        for row in COMPOSED
        for gain in [gains["C1"][FITTED[row.scheduler]]]
    }


def _from_interval(mean: float, ci95: float) -> Estimate:
    return Estimate(mean, ci95 / 1.96)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; give 1 if a row differs from its golden numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--gpus", type=int, default=64, help="of the cluster of --trace")
    asked = parser.parse_args(arguments)
    preset = build_preset(asked.preset)
    jobs = Overlay(asked.trace, preset.world, asked.gpus) if asked.trace else preset
    made = rules(jobs, ROWS, asked.first_seed)
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    found = Parallel(n_jobs=asked.jobs)(delayed(measure)(jobs, made, s) for s in seeds)
    expected = golden(asked.golden) if asked.golden else {}
    columns = ("scheduler", "stop rule", *NUMBERS.values())
    source = f"{asked.trace.name} on {asked.gpus} GPUs" if asked.trace else f"preset {asked.preset}"
    print(f"{source}, seeds {seeds[0]} to {seeds[-1]}; means with 95 % intervals.\n")
    print("|" + "|".join(columns) + "|\n" + "|---" * 2 + "|--:" * len(NUMBERS) + "|")
    differences = []
    for row, numbers in zip(ROWS, estimates(np.array(found)), strict=True):
        cells = (numbers[n].written(n) for n in NUMBERS)
        print("|" + "|".join((row.scheduler, row.name, *cells)) + "|")
        differences += [
            f"{row.scheduler}, {row.name}: {NUMBERS[n]} is {numbers[n].written(n)}, "
            f"fitted {value.written(n)}"
            for n, value in expected.get(row, {}).items()
            if not numbers[n].agrees(value)
        ]
    for text in differences:
        print(f"DIFFERS: {text}")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
