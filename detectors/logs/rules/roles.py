"""What each series of a log is: an eval, a train-side channel, or nothing to a detector.

An eval says so by its name (or its row does, or the whole file is one of evaluations). Where no
name says so and nothing else in the file is of training, all numbers are taken as evals.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from evalstop.detectors.logs.curve import Role
from evalstop.detectors.logs.rules.names import (
    EVAL_WORDS,
    TRAIN_WORDS,
    in_train_space,
    is_bookkeeping,
    is_eval,
    without_eval,
    words,
)

# After a leading train / rollout / actor ... is taken off; the more telling name first.
_LOSS = ("loss", "gpt loss", "sft loss", "lm loss", "loss step", "loss epoch", "loss mean")
_PROXY = (
    *("reward", "proxy reward", "proxy", "rewards mean", "reward mean", "mean reward"),
    *("ep rew mean", "rlhf reward", "episode reward", "rewards"),
)
_KL = ("kl", "mean kl", "kl mean", "ppo kl", "approx kl", "policy kl", "kl div", "kl divergence")
CHANNELS: dict[Role, tuple[str, ...]] = {"train_loss": _LOSS, "proxy_reward": _PROXY, "kl": _KL}

_OTHER_TRAIN = frozenset(
    [
        *("pg loss", "policy loss", "value loss", "vf loss", "actor loss", "critic loss"),
        *("entropy loss", "learning rate"),
    ]
)
_RL_PARTS = frozenset(["policy", "actor", "critic", "ppo"])  # their loss is no training loss
_SIGNAL_WORDS = frozenset(["loss", "reward", "rewards", "score", "scores", "kl", "return", "rew"])

# What TRL and Stable-Baselines3 log at an eval beside its scores, and TRL's PPO calls val/...
_DIAGNOSTIC_FIRST = frozenset(
    ["completions", "completion", "logps", "logits", "sampling", "clip", "clipfrac"]
)
_DIAGNOSTIC = frozenset(
    [
        *("kl", "entropy", "rewards chosen", "rewards rejected", "mean ep length", "ep lengths"),
        *("ratio", "ratio var"),
    ]
)


class Name(NamedTuple):
    """A series in a log: its name, and the split its rows name ("eval", "train" or "")."""

    metric: str
    split: str = ""


def channel(name: str) -> tuple[Role, int] | None:
    """Give the train-side channel that a name stands for, with how far down its list it is.

    >>> channel("critic/rewards/mean"), channel("Training Loss"), channel("policy_loss")
    (('proxy_reward', 3), ('train_loss', 0), None)
    """
    told = words(name)
    plain = " ".join(told[1:] if len(told) > 1 and in_train_space(name) else told)
    if plain == "loss" and told[0] in _RL_PARTS:
        return None
    for role, names in CHANNELS.items():
        if plain in names:
            return role, names.index(plain)
    return None


def is_train(name: str) -> bool:
    """Tell whether a name shows that the file logs training."""
    told = words(name)
    return (
        channel(name) is not None
        or in_train_space(name)
        or " ".join(told) in _OTHER_TRAIN
        or told[-2:] == ("grad", "norm")
        or told[-1:] == ("lr",)
    )


def is_diagnostic(name: str) -> bool:
    """Tell whether an eval-side series is a trainer's diagnostic, which no one would select by."""
    told = without_eval(name)
    return told[:1] != () and (told[0] in _DIAGNOSTIC_FIRST or " ".join(told) in _DIAGNOSTIC)


def may_matter(name: str) -> bool:
    """Tell whether any rule could make a curve of a series; the others need not be kept."""
    if is_bookkeeping(name):
        return False
    return not in_train_space(name) or channel(name) is not None or _is_signal(name)


def roles(
    found: Iterable[Name],
    *,
    all_eval: bool = False,
    all_train: bool = False,
    wanted: Collection[str] = (),
) -> tuple[dict[Name, Role], list[str]]:
    """Give the role of each series worth keeping, and the evals that were taken by elimination.

    Parameters
    ----------
    found : iterable of Name
        All numeric series of the file.
    all_eval : bool
        The file is one of evaluations: all of it is evals.
    all_train : bool
        The file is one of training, whatever its names are: nothing is taken by elimination.
    wanted : collection of str
        Metrics that the user named: these and no others are the evals.
    """
    found = list(found)
    if not all_eval:
        titles = {name.metric for name in found}  # a model card, or a copied notebook table
        all_eval = "Validation Loss" in titles and "Training Loss" in titles
    role: dict[Name, Role | None] = {name: _role(name, all_eval) for name in found}
    eliminated: list[str] = []
    trained = all_train or any(name.split or is_train(name.metric) for name in found)
    if not wanted and not trained and "eval" not in role.values():
        eliminated = [name.metric for name in found if not is_bookkeeping(name.metric)]
        role |= {name: "eval" for name in found if name.metric in eliminated}
    if wanted:
        for name in found:
            if name.metric in wanted:
                role[name] = "eval"
            elif role[name] == "eval":
                role[name] = None
    return {name: r for name, r in role.items() if r is not None}, eliminated


def _role(name: Name, all_eval: bool) -> Role | None:
    metric, told = name.metric, words(name.metric)
    if is_bookkeeping(metric):
        return None
    evaluated = name.split in EVAL_WORDS or (not name.split and is_eval(metric))
    if evaluated or (all_eval and not (told and told[0] in TRAIN_WORDS)):
        return "signal" if is_diagnostic(metric) else "eval"
    train_side = channel(metric)
    if train_side is not None:
        return train_side[0]
    return "signal" if _is_signal(metric) else None


def _is_signal(name: str) -> bool:
    told = words(name)
    return not _SIGNAL_WORDS.isdisjoint(told) and told[-1] not in ("min", "max")
