"""What the name of a column or key says: a clock, a run, a repeat, an eval, or bookkeeping."""

import re
import unicodedata
from functools import lru_cache

EVAL_WORDS = frozenset(["eval", "evaluation", "val", "valid", "validation", "test", "dev"])
TRAIN_WORDS = frozenset(["train", "training"])

# Clocks, the better first. Trainers write several: the one that counts optimiser steps wins.
STEP_KEYS = (
    *("global_step", "train_global_step", "trainer_global_step", "eval_global_step"),
    *("training_global_step", "time_total_timesteps", "total_timesteps", "timesteps_total"),
    *("timesteps", "num_timesteps", "env_steps", "current_steps", "training_step", "train_step"),
    *("step", "steps", "iteration", "iter", "iterations", "training_iteration", "update"),
    *("updates", "checkpoint", "ckpt"),
)
RUN_KEYS = ("run", "run_name", "run_id", "run_uuid", "seed", "trial", "trial_id")
RUN_PARTS = frozenset(["seed", "trial", "trial_id"])  # named in a run's name: seed=1
REPLICATE_KEYS = ("rank", "sample", "sample_id", "episode_id", "replicate", "repeat")
SPLIT_KEYS = ("event", "split", "phase", "mode", "stage", "kind", "type", "subset")
_USES = (
    ("step", STEP_KEYS),
    ("epoch", ("epoch", "epochs", "train_epoch", "eval_epoch", "training_epoch")),
    ("episode", ("episode",)),
    ("closing", ("train_runtime", "train_train_runtime")),
    ("run", RUN_KEYS),
    ("replicate", REPLICATE_KEYS),
    ("split", SPLIT_KEYS),
)
CONTAINERS = frozenset(["data", "metrics", "logs", "values", "scalars", "summary"])

_TRAIN_SPACES = frozenset(
    ["train", "training", "rollout", "actor", "critic", "objective", "policy", "rewards", "ppo"]
)
_BOOK_SPACES = frozenset(
    [
        *("time", "timing", "timing_s", "perf", "system", "memory", "gpu"),
        *("config", "args", "params", "hparams"),
    ]
)
_BOOK_LAST = frozenset(
    [
        *("runtime", "time", "timestamp", "seconds", "elapsed", "duration", "fps", "throughput"),
        *("epoch", "epochs", "steps", "samples", "count", "percentage", "seed", "lr", "flos"),
        *("stderr", "stdev", "sd"),
    ]
)
_BOOK_FIRST = frozenset(["num", "elapsed", "remaining"])
_BOOK_WHOLE = frozenset([("n",), ("total",), ("progress",), ("rank",), ("train", "train", "loss")])
_BOOK_ENDS = frozenset([("per", "second"), ("grad", "norm"), ("learning", "rate")])
_COUNT = re.compile(r"(?:^|[_/ ])n[_/ ]")


@lru_cache(maxsize=4096)
def clean(name: str) -> str:
    """Give a name in Unicode NFC (half of a surrogate pair, which no file can hold, replaced)."""
    name = unicodedata.normalize("NFC", name)
    return name.encode("utf-8", "replace").decode("utf-8") if not name.isascii() else name


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """Split a name into its words, in lower case.

    >>> words("eval/bleuScore_n-gram@4"), words("lossless")
    (('eval', 'bleu', 'score', 'n', 'gram', '4'), ('lossless',))
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(w.lower() for w in re.split(r"[\W_]+", parted) if w)


def key(name: str) -> str:
    """Give the spelling under which step, run and repeat keys are looked up."""
    return "_".join(words(name))


def is_eval(name: str) -> bool:
    """Tell whether a name says that it is an eval: ``eval_loss``, ``Validation Loss``.

    >>> is_eval("loss/val"), is_eval("val-core/x/acc/mean@1"), is_eval("val-aux/x")
    (True, True, False)
    >>> is_eval("rewards/test_fn/mean"), is_eval("evaluator_x"), is_eval("metrics/dev_f1")
    (False, False, True)
    """
    if words(name)[:2] == ("val", "aux"):
        return False
    first, *others = (words(part) for part in name.split("/"))
    if first and first[0] in EVAL_WORDS:
        return True
    if first and (first[0] in _TRAIN_SPACES or _space(name) in _BOOK_SPACES):
        return False
    return any(part and part[0] in EVAL_WORDS for part in others)


def _space(name: str) -> str:
    """Give the part of a name before its first slash."""
    return name.partition("/")[0].lower()


def without_eval(name: str) -> tuple[str, ...]:
    """Give the words of a name after the word that makes it an eval."""
    told = words(name)
    return told[1:] if len(told) > 1 and told[0] in EVAL_WORDS else told


@lru_cache(maxsize=4096)
def use(name: str) -> tuple[str, int]:
    """Tell what a key is for, and how good it is among those of its use (0 = best).

    Uses: the clocks ``step``, ``wandb`` (the counter of Weights & Biases), ``epoch``, ``episode``;
    ``run``, ``replicate``, ``split``; ``closing`` (only the summary of a training has it); else
    ``value``.

    >>> use("train/global_step"), use("Step"), use("_step"), use("seed"), use("eval_acc")
    (('step', 1), ('step', 14), ('wandb', 0), ('run', 4), ('value', 0))
    """
    if name == "_step":
        return "wandb", 0
    told = key(name)
    for purpose, keys in _USES:
        if told in keys:
            return purpose, keys.index(told)
    own_step = "_".join(without_eval(name)) in ("step", "iteration")  # eval/step
    return ("step", len(STEP_KEYS)) if own_step else ("value", 0)


def in_train_space(name: str) -> bool:
    """Tell whether a name says that it belongs to training: ``train/...``, ``rollout/...``."""
    told = words(name)
    return bool(told) and told[0] in _TRAIN_SPACES


@lru_cache(maxsize=4096)
def is_bookkeeping(name: str) -> bool:
    """Tell whether a series is bookkeeping: clocks, counts, spreads, learning rates.

    >>> [is_bookkeeping(n) for n in ("eval_n_items", "eval_runtime", "acc_stderr", "eval_acc")]
    [True, True, True, False]
    """
    told = without_eval(name)
    if not told or name.startswith("_") or name.endswith(("__MIN", "__MAX")):
        return True
    return (
        told[-1] in _BOOK_LAST
        or told[0] in _BOOK_FIRST
        or told in _BOOK_WHOLE
        or told[-2:] in _BOOK_ENDS
        or "std" in told
        or _space(name) in _BOOK_SPACES
        or "_".join(told) in STEP_KEYS
        or _COUNT.search(name.lower()) is not None
    )
