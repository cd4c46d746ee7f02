"""``real-noise``: rules on curves as noisy, short and ragged as those of real post-training."""

from evalstop.studies.analysis import Analysis, along, best_table, interval, tables
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study

BUDGET = 0.05
AT_BUDGET = f"matched:fpr={BUDGET}"
SHOWN = ("precision", "recall", "fpr_healthy")

STUDY = Study(
    name="real-noise",
    question="What is left of k=2, and of any rule, on curves as noisy as real ones?",
    worlds=("real-noise",),
    detectors=(
        "k-decline",
        "k-decline:k=3 @ natural",
        "k-decline:k=4 @ natural",
        "drawdown",
        "ewma-drawdown",
        "slope-glr",
        "mann-kendall",
        "unimodal-glr",
        "gao-fit",
    ),
    thresholds=("natural", AT_BUDGET),
    axes={"sigma": (0.13, 0.38, 0.6)},
    scores=("precision", "recall", "recall_before_last", "fpr_healthy", "saved", "regret"),
    seeds=40,
)
SMOKE = STUDY.smaller(seeds=10, sigma=(0.13, 0.38))


def analyse(results: Results) -> Analysis:
    """Say what k does there, and what the other rules save at the same price."""
    findings = []
    for k in (2, 3, 4):
        name = "k-decline" if k == 2 else f"k-decline:k={k}"
        told = along(results, f"{name} @ natural", "sigma", SHOWN)
        findings += [
            f"noise {sigma:g} of the range: k={k} has precision {interval(row, 'precision')}, "
            f"recall {interval(row, 'recall')}, and stops {interval(row, 'fpr_healthy')} of the "
            "healthy runs"
            for sigma, row in told.iterrows()
        ]
    best = best_table(results, ["sigma"], "saved", f"k-decline @ {AT_BUDGET}", among=AT_BUDGET)
    return Analysis(
        findings,
        [best, *tables(results, results.scores)],
        {"real-noise": curves(results, ["precision", "recall", "fpr_healthy", "saved"])},
    )
