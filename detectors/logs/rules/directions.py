"""Which way a metric is better: told by the user, by the file, or by its name; else unknown.

A wrong guess stops the best run of a fleet, so that names decide only where they are sure: the
words of `LOWER`, and the names that trainers document (`ALIASES`).
"""

import re
from collections.abc import Mapping

from evalstop.detectors.logs.rules.names import words

LOWER = frozenset(["loss", "perplexity", "ppl", "wer", "ece"])

# Who says so, and names (after eval_ or eval/ where it has one) for which higher is better.
ALIASES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (source, re.compile(pattern, re.IGNORECASE))
    for source, pattern in (
        ("a name of TRL", r"(eval[_/])?(reward|rewards/(accuracies|margins)|mean_token_accuracy)"),
        (
            "a name of TRL",
            r"(eval[_/])?(rewards/(?!chosen|rejected).+|objective/(rlhf_reward|scores))",
        ),
        ("a name of OpenRLHF", r"(eval[_/])+.+_pass\d+"),
        ("a name of verl", r"val-core/.+/(acc|reward|score)/(mean|maj|best)@\d+(/mean)?"),
        ("a name of Stable-Baselines3", r"eval/(mean_reward|success_rate)|rollout/ep_rew_mean"),
        ("its name", r"(eval[_/])?win_?rate"),  # no other: that of a rival falls as a run gains
        ("its name", r"(.*[\W_])?(acc|accuracy|acc_norm|f1|bleu|pass@\d+|pass_at_\d+)"),
    )
)


def direction(
    metric: str, asked: Mapping[str, bool], told: Mapping[str, tuple[bool, str]]
) -> tuple[bool | None, str]:
    """Give *higher is better* (None = unknown) and who says so.

    Parameters
    ----------
    metric : str
        Name of the metric.
    asked : mapping of str to bool
        What the user said.
    told : mapping of str to (bool, str)
        What the file said, with where.

    >>> direction("eval_loss", {}, {}), direction("lossless_ratio", {}, {})
    ((False, 'its name'), (None, ''))
    >>> direction("eval_win_rate", {}, {}), direction("eval_rival_win_rate", {}, {})
    ((True, 'its name'), (None, ''))
    """
    if metric in asked:
        return asked[metric], "as you said"
    if metric in told:
        return told[metric]
    if LOWER.intersection(words(metric)):
        return False, "its name"
    for source, names in ALIASES:
        if names.fullmatch(metric):
            return True, source
    return None, ""
