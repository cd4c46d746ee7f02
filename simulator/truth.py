"""What only a simulated world knows, kept apart from what a platform sees.

Detectors and schedulers are handed `Runs`, never a `Population`: nothing reachable from ``runs``
refers to the truth.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.observation import FloatArray, Runs

BoolArray = NDArray[np.bool_]
StrArray = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Truths:
    """What is true of ``n_runs`` runs; stops are judged against it, nobody is told.

    Parameters
    ----------
    kind : str array (n_runs,)
        Type of the job: ``RLHF``, ``LoRA`` or ``DPO``.
    hacking : bool array (n_runs,)
        Whether the true score falls after a peak, so that the run should be stopped.
    peak : array (n_runs,)
        Progress p* of the true peak of a hacking run, in [0, 1]; NaN for other runs.
    true_score : array (n_runs, n_evals)
        Eval scores without noise; NaN in the padding of shorter runs.
    loss_rate : array (n_runs,)
        How fast the training loss falls: ``exp(-loss_rate * progress)``; only an oracle policy may
        be given it.
    """

    kind: StrArray
    hacking: BoolArray
    peak: FloatArray
    true_score: FloatArray
    loss_rate: FloatArray

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, eq=False)
class Population:
    """Runs as a platform sees them, and the truth about them.

    Parameters
    ----------
    runs : Runs
        Eval scores, losses, proxy rewards, KL, progress and steps.
    truth : Truths
        The same runs in the same order.
    """

    runs: Runs
    truth: Truths

    def __len__(self) -> int:
        return len(self.runs)
