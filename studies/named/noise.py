"""``noise``: how much eval noise k=2 stands, and what other rules make of the same runs.

The paper gives precision against noise. Beside it stand what precision does not show: the share of
hacking runs that are stopped in time to save anything, and what is saved by rules that stop exactly
as many healthy runs as k=2 does.
"""

from evalstop.studies.analysis import Analysis, along, best_table, first_above, interval, tables
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study

K2 = "k-decline @ natural"
BUDGET = 0.05
# arXiv:2606.04145: precision falls from 100 to 81 %, and is at least 91 % for sigma up to .05.
PAPER = {0.01: "1.00", 0.05: "at least .91", 0.12: ".81"}
STARS = {"precision": {0.01: 1.00, 0.12: 0.81}}

STUDY = Study(
    name="noise",
    question="How much eval noise does k=2 stand, and which rule saves more at the same price?",
    worlds=("paper",),
    detectors=(
        "k-decline",
        "drawdown",
        "ewma-drawdown:weight=0.7",
        "slope-glr",
        "unimodal-glr",
        "gao-fit",
    ),
    thresholds=("natural", "like"),
    axes={"sigma": (0.01, 0.02, 0.03, 0.04, 0.05, 0.08, 0.12)},
    scores=("precision", "recall_before_last", "fpr_healthy", "saved"),
    seeds=40,
)
SMOKE = STUDY.smaller(seeds=10, sigma=(0.01, 0.05, 0.12))


def analyse(results: Results) -> Analysis:
    """Say where k=2 holds, and what it misses."""
    k2 = along(results, K2, "sigma", ["precision", "recall", "last_only", "fpr_healthy"])
    findings = [
        f"sigma {sigma:g}: precision of k=2 is {interval(k2.loc[sigma], 'precision')}, "
        f"the paper says {paper}"
        for sigma, paper in PAPER.items()
        if sigma in k2.index
    ]
    highest = k2.index[-1]
    findings += [
        f"sigma {highest:g}: k=2 stops {interval(k2.loc[highest], 'recall')} of the hacking runs, "
        f"and {interval(k2.loc[highest], 'last_only')} of those only at their last eval, "
        "where nothing is left to save",
    ]
    costly = first_above(k2, "fpr_healthy", BUDGET)
    if costly is not None:
        findings.append(
            f"from sigma {costly:g} on k=2 stops more than {BUDGET:.0%} of the healthy runs: "
            f"{interval(k2.loc[costly], 'fpr_healthy')} there"
        )
    return Analysis(
        findings=findings,
        tables=[
            best_table(results, ["sigma"], "saved", K2, among="like"),
            *tables(results, results.scores),
        ],
        figures={"noise": curves(results, results.scores, paper=STARS)},
    )
