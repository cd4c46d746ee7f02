"""Stop at: stop every run at the same share of its planned training, whether an eval is due or not.

In recorded curves, which are known at their evals only, it is `fixed-progress`: the statistic is
the progress, the natural threshold `progress`. In the cluster simulator the stop is an event of its
own, at exactly this progress.

Where it fails: as `fixed-progress`, it stops healthy and hacking runs alike.

>>> from evalstop.detectors import Runs, first_alarm, scan
>>> runs = Runs.of([[0.5, 0.6, 0.7], [0.5, 0.6]], progress=[[0.3, 0.7, 1.0], [0.3, 0.6]])
>>> first_alarm(scan(StopAt(), runs), threshold=0.65)
array([ 1, -1])
"""

from dataclasses import dataclass
from typing import ClassVar

from evalstop.detectors.zoo.fixed_progress import FixedProgress


@dataclass(frozen=True, slots=True)
class StopAt(FixedProgress):
    """Stop at a fixed share of the planned training, in the cluster at that very moment.

    Parameters
    ----------
    progress : float
        Share of the planned training, in [0, 1].

    References
    ----------
    The StopAt baseline of EvalStop, arXiv:2606.04145.
    """

    name: ClassVar[str] = "stop-at"
