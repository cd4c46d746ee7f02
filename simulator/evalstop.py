"""EvalStop around any policy: watch the evals of every job, stop it at an alarm, free its GPUs.

What a stop rule knows of a job (its evals, its progress) and what a policy knows (its submission,
its service) stay apart: the policy underneath decides as always, on jobs that leave sooner.

>>> from evalstop.detectors.zoo.k_decline import KDecline
>>> from evalstop.simulator import build_policy
>>> from evalstop.simulator.presets import build_preset
>>> scenario = build_preset("paper:jobs=100").draw(seed=1)
>>> rule = EvalStop(build_policy("srtf-est"), KDecline(k=2))
>>> run = rule.simulate(scenario, gpus=64, overhead=120)
>>> len(run.stops) > 20
True
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors import Monitor, first_alarm, natural_threshold, scan
from evalstop.detectors.observation import FloatArray, IntArray
from evalstop.detectors.rules import Detector, Threshold, inputs_of
from evalstop.detectors.scan import check_threshold
from evalstop.detectors.settings import check_settings, setting, spec_of
from evalstop.detectors.zoo.stop_at import StopAt
from evalstop.errors import UserError
from evalstop.simulator.exact import exact, written
from evalstop.simulator.policies.base import Policy
from evalstop.simulator.presets.scenario import Scenario
from evalstop.simulator.run import Run
from evalstop.simulator.simulation import simulate
from evalstop.simulator.stoppers import Oracle
from evalstop.simulator.stops import LiveStops, Reaction, Stops
from evalstop.simulator.truth import BoolArray, Population


@dataclass(frozen=True)
class EvalStop:
    """A policy with a stop rule around it.

    Parameters
    ----------
    base : Policy
        The policy that decides who runs.
    stopper : Detector or Oracle
        The rule. A stop at an eval comes at the progress of that eval; `stop-at` stops at its
        progress, whether or not an eval is due.
    threshold : float or array, optional
        Alarm = statistic >= threshold; default: the rule's natural threshold.
    stop_types : tuple of str
        Types of job that may be stopped; empty = all.
    on_alarm : {"stop", "deprioritise"}
        Let the job go, with its best checkpoint; or put it behind all others for the rest of its
        life, as schedulers do that know no end but the job's own. A policy that never takes GPUs
        from a running job cannot put it behind any.
    reaction_delay : float
        Seconds from an alarm to what is done about it, while the job goes on: a person watching.
    resubmit : {"never", "restart", "resume"}
        Whether the owner of a healthy job that was stopped submits it again at once, with all of
        its work or with what was left. It is never stopped again.
    live : bool
        Ask a `Monitor` at every eval while the cluster runs, instead of scanning all runs first;
        the result is the same.
    """

    name: ClassVar[str] = "evalstop"
    base: Policy
    stopper: Detector | Oracle
    threshold: Threshold | None = None
    stop_types: tuple[str, ...] = ("RLHF",)
    on_alarm: str = setting("stop", choices=("stop", "deprioritise"), doc="what an alarm does")
    reaction_delay: float = setting(0.0, low=0, high=1e9, unit="s", doc="time to react")
    resubmit: str = setting(
        "never", choices=("never", "restart", "resume"), doc="what owners of healthy jobs do"
    )
    live: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        if self.on_alarm == "deprioritise" and self.resubmit != "never":
            raise UserError("resubmit: only a job that was stopped is submitted again")
        if not isinstance(self.stopper, Oracle):
            _threshold(self.stopper, self.threshold)

    def simulate(
        self,
        scenario: Scenario,
        gpus: int,
        *,
        overhead: float = 0,
        save_delay: float = 0,
        seed: int = 0,
    ) -> Run:
        """Run a scenario; parameters as `evalstop.simulator.simulate`."""
        return simulate(
            scenario.workload,
            self.base,
            gpus,
            overhead=overhead,
            save_delay=save_delay,
            seed=seed,
            stops=self.stops(scenario),
        )

    def stops(self, scenario: Scenario) -> Stops:
        """Give what the event loop asks."""
        workload, population = scenario.workload, scenario.population
        may = self.stoppable(population)
        healthy = np.flatnonzero(may & ~population.truth.hacking).tolist()
        reaction = Reaction(
            exact(written(self.reaction_delay)),
            self.on_alarm == "deprioritise",
            dict.fromkeys(healthy, self.resubmit) if self.resubmit != "never" else {},
        )
        if self.live and not isinstance(self.stopper, Oracle | StopAt):
            monitor = Monitor(self.stopper, _threshold(self.stopper, self.threshold))
            return LiveStops(workload, population.runs, monitor, may.tolist(), reaction)
        return Stops(workload, self.alarms(population).tolist(), reaction)

    def stoppable(self, population: Population) -> BoolArray:
        """Tell which runs may be stopped."""
        kind = population.truth.kind
        return np.isin(kind, self.stop_types) if self.stop_types else np.full(len(kind), True)

    def alarms(self, population: Population) -> FloatArray:
        """Give the progress of each run at its first alarm; infinite = none, or not heeded."""
        may = self.stoppable(population)
        if isinstance(self.stopper, StopAt):
            return np.where(may, _threshold(self.stopper, self.threshold), np.inf)
        at = first_evals(self.stopper, population, self.threshold)
        progress = population.runs.progress
        assert progress is not None
        return np.where(may & (at >= 0), progress[np.arange(len(at)), at], np.inf)


def first_evals(
    stopper: Detector | Oracle, population: Population, threshold: Threshold | None = None
) -> IntArray:
    """Give the eval of each run's first alarm, whether or not the run may be stopped; -1 = none."""
    if isinstance(stopper, Oracle):
        return stopper.first_alarm(population)
    runs = population.runs
    seen = runs.usable(inputs_of(stopper)).cumsum(axis=1)
    return first_alarm(scan(stopper, runs), _threshold(stopper, threshold), seen)


def _threshold(detector: Detector, threshold: Threshold | None) -> FloatArray:
    """Give the threshold that was asked for, or else the natural one."""
    asked = natural_threshold(detector) if threshold is None else threshold
    if asked is None:
        raise UserError(
            f"{spec_of(detector)}: it has no natural threshold, give --threshold or --fpr"
        )
    return check_threshold(asked)
