"""The oracle: stop every hacking run at its first eval at or after its true peak.

No rule that learns of a run at its evals can stop it sooner without risk, so it bounds what all of
them could save. It is no detector: it is told the truth.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalstop.detectors.observation import IntArray
from evalstop.simulator.truth import Population


@dataclass(frozen=True, slots=True)
class Oracle:
    """Oracle: stop hacking runs at the first eval at or after the true peak; simulated worlds only.

    It has no statistic and no threshold.
    """

    name: ClassVar[str] = "oracle"

    def first_alarm(self, population: Population) -> IntArray:
        """Give the eval of each run's stop, -1 = none."""
        runs, truth = population.runs, population.truth
        assert runs.progress is not None
        evals = np.arange(runs.score.shape[1]) < runs.n_evals[:, None]
        past = evals & truth.hacking[:, None] & (runs.progress >= truth.peak[:, None])
        return np.where(past.any(axis=1), past.argmax(axis=1), -1)
