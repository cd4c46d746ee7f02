"""Cluster studies: stop rules around schedulers, priced against the same jobs without stops.

A cell is one scheduler with one stop rule on one draw of a preset's jobs. All of them meet the same
jobs and runs in one repetition, and each is compared with its own scheduler left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from evalstop.benchmarks.priced import price
from evalstop.benchmarks.scores import Scores
from evalstop.detectors.rules import Detector
from evalstop.detectors.settings import check_settings, setting, spec_of
from evalstop.simulator import build_policy, simulate
from evalstop.simulator.evalstop import EvalStop
from evalstop.simulator.presets import Preset, Scenario
from evalstop.simulator.pricing import HOUR
from evalstop.simulator.run import Run
from evalstop.simulator.stoppers import STOPPERS, Oracle
from evalstop.simulator.worlds import build_world
from evalstop.simulator.worlds.world import World
from evalstop.studies.detection import Detection, Drawn, Jobs
from evalstop.studies.grid import Kind
from evalstop.studies.thresholds import Threshold

CALIBRATION_RUNS = 4000  # healthy runs that matched thresholds are taken from


@dataclass(frozen=True)
class Action:
    """What is done about an alarm; see `EvalStop` for the settings."""

    name: ClassVar[str] = "action"
    on_alarm: str = setting("stop", choices=("stop", "deprioritise"), doc="what an alarm does")
    reaction_delay: float = setting(0.0, low=0, high=1e9, unit="s", doc="time to react")
    resubmit: str = setting(
        "never", choices=("never", "restart", "resume"), doc="what owners of healthy jobs do"
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, eq=False)
class Submitted:
    """Jobs with the runs behind them; runs of the cluster without stops are kept by scheduler."""

    scenario: Scenario
    cluster: Preset
    world: World
    seed: int
    _bases: dict[str, Run] = field(default_factory=dict)

    @cached_property
    def calibration(self) -> Drawn:
        """Runs of the same world for matched thresholds, drawn apart from the jobs'."""
        jobs = Jobs(CALIBRATION_RUNS, self.cluster.rlhf_share)
        return Detection(self.world, jobs).make(np.random.SeedSequence(self.seed))

    def base(self, scheduler: str) -> Run:
        """Run a scheduler without stops."""
        if scheduler not in self._bases:
            self._bases[scheduler] = simulate(
                self.scenario.workload,
                build_policy(scheduler),
                self.cluster.gpus,
                overhead=self.cluster.overhead,
                seed=self.seed,
            )
        return self._bases[scheduler]


@dataclass(frozen=True)
class Submissions:
    """Jobs of a preset's cluster, with runs of a world behind them."""

    world: World
    cluster: Preset

    def make(self, seeds: np.random.SeedSequence) -> Submitted:
        """Draw them."""
        seed = int(seeds.generate_state(1)[0])
        return Submitted(self.cluster.draw(seed, self.world), self.cluster, self.world, seed)


@dataclass(frozen=True)
class Priced:
    """A scheduler with a stop rule around it."""

    scheduler: str
    stopper: Detector | Oracle
    threshold: Threshold
    action: Action

    def measure(self, submitted: Submitted) -> Mapping[str, float]:
        """Run the cluster, compare with the scheduler left alone, score the alarms."""
        scenario, cluster = submitted.scenario, submitted.cluster
        at = None
        if not isinstance(self.stopper, Oracle):
            at = self.threshold.value(self.stopper, submitted.calibration)
        rule = EvalStop(
            build_policy(self.scheduler),
            self.stopper,
            at,
            on_alarm=self.action.on_alarm,
            reaction_delay=self.action.reaction_delay,
            resubmit=self.action.resubmit,
        )
        run = rule.simulate(scenario, cluster.gpus, overhead=cluster.overhead, seed=submitted.seed)
        base = submitted.base(self.scheduler)
        scores, bill, won = price(rule, scenario, base, run)
        return scores._asdict() | {
            "jct_gain": won.jct,
            "jct_p95_gain": won.jct_p95,
            "jct_p99_gain": won.jct_p99,
            "jct_matched_gain": won.jct_matched,
            "waste_cut": won.waste,
            "gpu_time_cut": won.gpu_time,
            "wrongly_stopped": bill.wrongly_stopped,
            "resubmitted": bill.resubmitted,
            "destroyed_gpu_hours": bill.destroyed_gpu_hours,
            "overhead_gpu_hours": bill.overhead_gpu_hours,
            "jct_hours": float(run.jct.mean()) / HOUR,
            "jct_base_hours": float(base.jct.mean()) / HOUR,
        }


PRICES = (
    *("jct_gain", "jct_p95_gain", "jct_p99_gain", "jct_matched_gain", "waste_cut", "gpu_time_cut"),
    *("wrongly_stopped", "resubmitted", "destroyed_gpu_hours", "overhead_gpu_hours"),
    *("jct_hours", "jct_base_hours"),
)

CLUSTER = Kind(
    common=lambda study: {
        "world": [build_world(spec) for spec in study.worlds],
        "cluster": [Preset(jobs=study.runs)],
        "scheduler": [build_policy(spec) for spec in study.schedulers],
        "action": [Action()],
    },
    detector=STOPPERS.build,
    assemble=lambda parts: (
        Submissions(parts["world"], parts["cluster"]),
        Priced(spec_of(parts["scheduler"]), parts["detector"], parts["threshold"], parts["action"]),
    ),
    scores=(*Scores._fields, *PRICES),
    shown=("jct_gain", "waste_cut", "precision", "recall"),
)
