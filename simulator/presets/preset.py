"""A preset is a world and a cluster: jobs that arrive, and the runs behind them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.settings import check_settings, setting
from evalstop.simulator.job import Job, Truth
from evalstop.simulator.presets.scenario import Scenario, Streams, draw_runs, draw_types, join
from evalstop.simulator.truth import StrArray
from evalstop.simulator.worlds import build_world
from evalstop.simulator.worlds.world import World

HOUR = 3600.0
# By type: median hours of work, and the numbers of GPUs that are equally likely.
MEDIAN_HOURS = {"RLHF": 4.0, "LoRA": 2.0, "DPO": 3.0}
GPU_DEMANDS = {"RLHF": (2, 4, 8), "LoRA": (1, 2), "DPO": (2, 4)}


@dataclass(frozen=True)
class Preset:
    """EvalStop's cluster; fitted, not disclosed by the authors: 64 GPUs, 500 jobs, load 1.07.

    Types at random, hours lognormal about 4 (RLHF), 2 (LoRA), 3 (DPO), GPUs uniform over 2, 4, 8 /
    1, 2 / 2, 4, Poisson arrivals. The load is offered on average: it is that of the expected
    GPU-time of a job, not of the jobs drawn.

    Parameters
    ----------
    world : str
        World of the runs, as the command line writes it; its `hacking` is the share of hacking jobs
        among RLHF jobs.
    gpus : int
        GPUs of the cluster.
    jobs : int
        Jobs to submit.
    rlhf_share : float
        Share of RLHF jobs, in [0, 1]; half of the rest is LoRA, half DPO.
    load : float
        Offered load: expected GPU-time that arrives per GPU and unit of time.
    hours_sd : float
        Standard deviation of the logarithm of a job's hours.
    estimate_sd : float
        Standard deviation of the logarithm of estimated over true hours.
    overhead : float
        Seconds that a preempted job pays when it resumes.
    """

    name: ClassVar[str] = "paper"
    world: str = setting("paper", doc="world of the runs")
    gpus: int = setting(64, low=8, doc="GPUs of the cluster")
    jobs: int = setting(500, low=1, doc="jobs to submit")
    rlhf_share: float = setting(0.8, low=0, high=1, doc="share of RLHF jobs")
    load: float = setting(1.07, low=1e-3, high=1e3, doc="offered load")
    hours_sd: float = setting(0.9, low=0, high=5, doc="sd of the logarithm of a job's hours")
    estimate_sd: float = setting(
        0.3, low=0, high=5, doc="sd of the logarithm of estimated over true hours"
    )
    overhead: float = setting(120.0, low=0, high=1e9, unit="s", doc="what a resumed job pays")

    def __post_init__(self) -> None:
        check_settings(self)

    def expected_gpu_seconds(self) -> float:
        """Give the expected GPU-time of a job, in GPU-seconds."""
        other = (1 - self.rlhf_share) / 2
        shares = {"RLHF": self.rlhf_share, "LoRA": other, "DPO": other}
        at_median = sum(
            share * float(np.mean(GPU_DEMANDS[kind])) * MEDIAN_HOURS[kind]
            for kind, share in shares.items()
        )
        return float(at_median * HOUR * np.exp(self.hours_sd**2 / 2))

    def draw(self, seed: int, world: World | None = None) -> Scenario:
        """Draw a workload and the runs behind its jobs.

        Parameters
        ----------
        seed : int
            Of everything: one seed gives the same jobs in every world and at every share of hacking
            runs.
        world : World, optional
            Source of the runs instead of the preset's own.
        """
        random = Streams.of(seed)
        types = draw_types(random.types, self.jobs, self.rlhf_share)
        runs = draw_runs(world or build_world(self.world), types, random)
        return join(*self._jobs(random.jobs, types), runs)

    def _jobs(self, rng: np.random.Generator, types: StrArray) -> tuple[list[Job], list[Truth]]:
        """Draw submit times, GPUs, hours and estimates."""
        n = len(types)
        gap = self.expected_gpu_seconds() / (self.load * self.gpus)
        submit = np.cumsum(gap * rng.standard_exponential(n))
        dice = rng.random(n)
        gpus, seconds = np.empty(n, dtype=np.int64), np.empty(n)
        for kind, demands in GPU_DEMANDS.items():
            rows = types == kind
            gpus[rows] = np.array(demands)[(dice[rows] * len(demands)).astype(np.int64)]
            seconds[rows] = MEDIAN_HOURS[kind] * HOUR
        duration = seconds * np.exp(self.hours_sd * rng.standard_normal(n))
        estimate = duration * np.exp(self.estimate_sd * rng.standard_normal(n))
        facts = zip(submit.tolist(), gpus.tolist(), estimate.tolist(), strict=True)
        jobs = [Job(str(i), *fact) for i, fact in enumerate(facts)]
        return jobs, [Truth(d) for d in duration.tolist()]


@dataclass(frozen=True)
class PaperN6(Preset):
    """The same cluster and the world `paper-n6`; fitted, not disclosed by the authors."""

    name: ClassVar[str] = "paper-n6"
    world: str = setting("paper-n6", doc="world of the runs")


@dataclass(frozen=True)
class HeadOfLine(Preset):
    """For schedulers whose head of line blocks; fitted, not disclosed by the authors."""

    name: ClassVar[str] = "paper-head-of-line"
    load: float = setting(1.0, low=1e-3, high=1e3, doc="offered load")
    estimate_sd: float = setting(
        0.2, low=0, high=5, doc="sd of the logarithm of estimated over true hours"
    )
