"""``base-rate``: what a stop is worth where few runs hack.

The paper shows 20 to 80 % of hacking RLHF runs. On a platform where most runs are fine, nearly all
alarms of a rule are false unless its false-alarm rate is far below the share of hacking runs.
"""

from evalstop.studies.analysis import Analysis, along, best_table, interval, tables
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study

K2 = "k-decline @ natural"
CAREFUL, STRICT = "ewma-drawdown:weight=0.7", "matched:fpr=0.002"
# arXiv:2606.04145: precision is at least 89 % for shares from 20 to 80 %.
PAPER_AT_LEAST, PAPER_FROM = 0.89, 0.2

STUDY = Study(
    name="base-rate",
    question="How much can an alarm be trusted where few runs hack?",
    worlds=("paper",),
    detectors=("k-decline", "drawdown", CAREFUL, "slope-glr", "unimodal-glr"),
    thresholds=("natural", "like", STRICT),
    axes={"hacking": (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)},
    scores=("precision", "recall_before_last", "fpr_healthy"),
    seeds=40,
)
SMOKE = STUDY.smaller(seeds=10, hacking=(0.02, 0.2, 0.6))


def analyse(results: Results) -> Analysis:
    """Say down to which share of hacking runs k=2 is precise, and what is precise below."""
    k2 = along(results, K2, "hacking", ["precision"])
    shown = k2[k2.index >= PAPER_FROM]
    findings = []
    if not shown.empty:
        worst = shown["precision"].idxmin()
        findings.append(
            f"from {PAPER_FROM:.0%} hacking on, precision of k=2 is at least "
            f"{interval(shown.loc[worst], 'precision')}, the paper says {PAPER_AT_LEAST}"
        )
    findings += [
        f"{share:.0%} hacking, which the paper does not show: precision of k=2 is "
        f"{interval(row, 'precision')}"
        for share, row in k2[k2.index < PAPER_FROM].iterrows()
    ]
    rare = k2.index[0]
    strict = along(results, f"{CAREFUL} @ {STRICT}", "hacking", ["precision", "recall_before_last"])
    findings.append(
        f"{rare:.0%} hacking, one false alarm in 500 healthy runs: {CAREFUL} has precision "
        f"{interval(strict.loc[rare], 'precision')} and stops "
        f"{interval(strict.loc[rare], 'recall_before_last')} of the hacking runs before their end"
    )
    best = best_table(results, ["hacking"], "recall_before_last", f"k-decline @ {STRICT}", STRICT)
    return Analysis(
        findings,
        [best, *tables(results, results.scores)],
        {"base-rate": curves(results, results.scores)},
    )
