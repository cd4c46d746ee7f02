"""Scheduling policies: one policy, one file, all of them in one explicit tuple."""

from typing import get_args

from evalstop.detectors.catalogue import Catalogue
from evalstop.errors import UserError
from evalstop.simulator.policies.base import Discipline, Elastic, Oracle, Policy
from evalstop.simulator.policies.fifo import Fifo
from evalstop.simulator.policies.fifo_skip import FifoSkip
from evalstop.simulator.policies.las import Las
from evalstop.simulator.policies.loss_aware import LossAware
from evalstop.simulator.policies.pollux import Pollux
from evalstop.simulator.policies.sjf_est import SjfEst
from evalstop.simulator.policies.sjf_est_skip import SjfEstSkip
from evalstop.simulator.policies.sjf_gpus import SjfGpus
from evalstop.simulator.policies.sjf_skip import SjfSkip
from evalstop.simulator.policies.srsf import Srsf
from evalstop.simulator.policies.srtf import Srtf
from evalstop.simulator.policies.srtf_est import SrtfEst
from evalstop.simulator.policies.tiresias import Tiresias

POLICIES: tuple[type[Policy], ...] = (
    Fifo,
    FifoSkip,
    SjfEst,
    SjfEstSkip,
    SrtfEst,
    LossAware,
    Las,
    Tiresias,
    Pollux,
    Srtf,
    Srsf,
    SjfSkip,
    SjfGpus,
)

SCHEDULERS: Catalogue[Policy] = Catalogue("scheduler", POLICIES)

__all__ = ["POLICIES", "SCHEDULERS", "Elastic", "Oracle", "Policy", "build_policy"]


def build_policy(spec: str, more: dict[str, str] | None = None, *, outside: bool = False) -> Policy:
    """Make a policy from ``NAME:field=value,...``.

    Parameters
    ----------
    spec : str
        Name of a member, or ``path.py:Class``, with settings.
    more : dict, optional
        Further settings.
    outside : bool
        Whether the user typed it, so that a file may be run.

    Raises
    ------
    UserError
        If there is no such policy or setting, or the class is no policy, or an oracle does not
        say so.
    """
    policy = SCHEDULERS.build(spec, more=more, allow_path=outside)
    if not isinstance(policy, Policy):
        raise UserError(f"scheduler {spec}: it is no subclass of evalstop.simulator.Policy, be one")
    if policy.discipline not in get_args(Discipline):
        raise UserError(
            f"scheduler {spec}: discipline must be one of {', '.join(get_args(Discipline))}, "
            f"got {policy.discipline!r}"
        )
    if (policy.discipline == "elastic") != isinstance(policy, Elastic):
        raise UserError(
            f"scheduler {spec}: a policy of discipline elastic, and no other, is a subclass of "
            "evalstop.simulator.Elastic"
        )
    first_line = (type(policy).__doc__ or "").strip().partition("\n")[0]
    if policy.oracle and "oracle" not in first_line.lower():
        raise UserError(
            f"scheduler {spec}: it asks for true durations, so the first line of its docstring "
            "must say oracle"
        )
    return policy
