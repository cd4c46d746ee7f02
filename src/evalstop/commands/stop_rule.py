"""The stop rule of ``evalstop simulate``: made from its options, and what it was worth."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalstop.errors import UserError

if TYPE_CHECKING:
    from evalstop.benchmarks.priced import Priced
    from evalstop.simulator import Policy
    from evalstop.simulator.evalstop import EvalStop
    from evalstop.simulator.worlds.world import World


@dataclass(frozen=True)
class Asked:
    """The options about stopping, as the user gave them."""

    stop: str
    threshold: float | None
    fpr: float | None
    stop_types: str
    on_alarm: str
    reaction_delay: float
    resubmit: str


@dataclass
class Made:
    """The rule, and what the user should be told about it."""

    rule: "EvalStop"
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def make_rule(asked: Asked, policy: "Policy", world: "World | None", seed: int) -> Made:
    """Make the rule around a policy; `UserError` says which option does not fit."""
    from evalstop.detectors.settings import name_of
    from evalstop.simulator.evalstop import EvalStop
    from evalstop.simulator.stoppers import STOPPERS, Oracle

    stopper = STOPPERS.build(asked.stop, allow_path=True)
    if world is None:
        raise UserError(
            f"--stop {asked.stop}: a trace has jobs but no evals, give --world paper (see presets)"
        )
    threshold, notes, warnings = asked.threshold, [], []
    if isinstance(stopper, Oracle):
        if threshold is not None or asked.fpr is not None:
            raise UserError("--stop oracle: it has no threshold, leave --threshold and --fpr out")
    elif asked.fpr is not None:
        from evalstop.benchmarks.priced import CALIBRATION_RUNS, threshold_for

        if threshold is not None:
            raise UserError("--fpr: a threshold is given already, give one of the two")
        threshold = threshold_for(stopper, world, asked.fpr, seed)
        notes.append(
            f"threshold {threshold:.6g}: at most {asked.fpr:.2%} of healthy runs have an alarm, "
            f"their last eval included; set on {CALIBRATION_RUNS:,} of them, drawn apart"
        )
    rule = EvalStop(
        policy,
        stopper,
        threshold,
        stop_types=_types(asked.stop_types),
        on_alarm=asked.on_alarm,
        reaction_delay=asked.reaction_delay,
        resubmit=asked.resubmit,
    )
    if asked.on_alarm == "deprioritise" and policy.discipline in {"block", "skip"}:
        warnings.append(
            f"{name_of(policy)} takes no GPUs from a running job: to deprioritise it does nothing"
        )
    return Made(rule, notes, warnings)


def _types(text: str) -> tuple[str, ...]:
    """Read a comma list of job types; ``all`` = no matter which."""
    from evalstop.detectors.settings import nearest
    from evalstop.simulator.worlds.world import KINDS

    if text == "all":
        return ()
    types = tuple(word.strip() for word in text.split(","))
    for word in types:
        if word not in KINDS:
            raise UserError(f"--stop-types: there is no job type {word!r}, {nearest(word, KINDS)}")
    return types


def as_dict(priced: "Priced", wrong_stop: float) -> dict[str, Any]:
    """Give what a rule was worth for JSON."""
    return {
        "scores": priced.scores._asdict(),
        **priced.bill.as_dict(),
        "cost_gpu_hours": priced.bill.cost(wrong_stop),
        "gain": priced.gain.as_dict(),
    }


def rows(priced: "Priced", wrong_stop: float) -> list[tuple[str, str]]:
    """Give the lines of the table."""
    scores, bill, gain = priced
    jobs = (bill.stopped, bill.wrongly_stopped, bill.resubmitted, bill.demoted)
    cost = f"cost in GPU-hours, {wrong_stop:g} for a wrong stop"
    return [
        ("precision, recall", _shares(scores.precision, scores.recall)),
        ("FPR over all others, over healthy", _shares(scores.fpr_all, scores.fpr_healthy)),
        ("jobs stopped, wrongly, resubmitted, demoted", ", ".join(map(str, jobs))),
        ("alarms at the last eval: too late", f"{bill.alarms_at_last}"),
        ("GPU-hours wasted after the true peak", f"{bill.waste_gpu_hours:,.1f}"),
        ("GPU-hours of healthy work destroyed", f"{bill.destroyed_gpu_hours:,.1f}"),
        ("GPU-hours of healthy work never done", f"{bill.undone_gpu_hours:,.1f}"),
        *([(cost, f"{bill.cost(wrong_stop):,.1f}")] if wrong_stop else ()),
        ("saved against no rule: waste, GPU-time", _shares(gain.waste, gain.gpu_time)),
        ("saved: JCT mean, p95, p99", _shares(gain.jct, gain.jct_p95, gain.jct_p99)),
        ("saved: JCT mean of jobs let alone", _shares(gain.jct_matched)),
    ]


def _shares(*values: float) -> str:
    return ", ".join("-" if v != v else f"{v:.1%}" for v in values)  # noqa: PLR0124 - nan
