"""``horizon``: evals per run, and where k=2 stops being right.

Every further eval is one more chance for noise to make two declines in a row, and makes each true
decline smaller against it. So k has to grow with the number of evals, and pays for it in delay.
"""

from evalstop.studies.analysis import (
    Analysis,
    best_table,
    first_above,
    interval,
    tables,
    with_contender,
)
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study
from evalstop.studies.summary import summarize

BUDGET = 0.05
AT_BUDGET = f"matched:fpr={BUDGET}"
K2, BEST_K = "k-decline @ natural", f"k-decline @ {AT_BUDGET}"

STUDY = Study(
    name="horizon",
    question="Up to how many evals per run is k=2 right, and what is right beyond?",
    worlds=("paper",),
    detectors=(
        "k-decline",
        "drawdown",
        "ewma-drawdown:weight=0.7",
        "slope-glr",
        "mann-kendall",
        "gao-fit",
    ),
    thresholds=("natural", AT_BUDGET),
    axes={"sigma": (0.03, 0.06), "n": (4, 6, 8, 10, 12, 16, 24, 40)},
    scores=("fpr_healthy", "recall_before_last", "saved"),
    seeds=20,
)
SMOKE = STUDY.smaller(seeds=10, n=(4, 8, 16))


def analyse(results: Results) -> Analysis:
    """Say where k=2 is too quick, which k keeps the budget, and what else does."""
    frame = with_contender(results.frame)
    told = summarize(frame, ["sigma", "contender", "n"], ["fpr_healthy"])
    findings = []
    for sigma, here in told.groupby("sigma", sort=False):
        k2 = here[here["contender"] == K2].set_index("n")
        costly, longest = first_above(k2, "fpr_healthy", BUDGET), k2.index[-1]
        findings.append(
            f"sigma {sigma:g}: k=2 stops {interval(k2.iloc[-1], 'fpr_healthy')} of the healthy "
            f"runs with {longest} evals; "
            + (f"more than {BUDGET:.0%} from {costly} on" if costly else f"never {BUDGET:.0%}")
        )
        chosen = frame[(frame["sigma"] == sigma) & (frame["contender"] == BEST_K)]
        k = chosen.groupby("n")["threshold_value"].median()
        longest_with = k.index.to_series().groupby(k.to_numpy()).max()
        upto = ", ".join(f"k={k:g} up to {n}" for k, n in longest_with.items())
        findings.append(f"sigma {sigma:g}: to keep {BUDGET:.0%} takes {upto} evals")
    return Analysis(
        findings,
        [
            best_table(results, ["sigma", "n"], "saved", BEST_K, among=AT_BUDGET),
            *tables(results, results.scores),
        ],
        {"horizon": curves(results, results.scores)},
    )
