"""``k``: how many declines in a row, for which number of evals and which noise.

The paper finds that k=2 balances. It does for about eight evals and little noise; this study says
which k does where, what a false-alarm budget leaves of it, and where no k is good.
"""

from evalstop.studies.analysis import Analysis, interval, tables, with_contender
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study
from evalstop.studies.summary import summarize

BUDGET = 0.05
OTHER = "ewma-drawdown:weight=0.7"
K, RIVAL = "k-decline @ natural", f"{OTHER} @ matched:fpr={BUDGET}"

STUDY = Study(
    name="k",
    question="Which k for how many evals and how much noise, and where is no k good?",
    worlds=("paper",),
    detectors=(K, RIVAL),
    axes={"n": (8, 20), "sigma": (0.03, 0.06, 0.12), "detector.k": (1, 2, 3, 4, 5)},
    scores=("recall_before_last", "fpr_healthy", "saved"),
    seeds=40,
)
SMOKE = STUDY.smaller(seeds=10, sigma=(0.03, 0.12))


def analyse(results: Results) -> Analysis:
    """Say which k is best within a budget of false alarms, at each number of evals and noise."""
    frame = with_contender(results.frame)
    place = ["n", "sigma"]
    told = summarize(frame, [*place, "contender", "detector.k"], ["fpr_healthy", "saved"])
    findings = []
    for (n, sigma), here in told.groupby(place, sort=False):
        rival = here[here["contender"] == RIVAL].iloc[0]
        allowed = here[(here["contender"] == K) & (here["fpr_healthy"] <= BUDGET)]
        beside = f"; {OTHER} at the same budget saves {interval(rival, 'saved')}"
        where = f"{n} evals, sigma {sigma:g}: "
        if allowed.empty:
            findings.append(
                f"{where}no k up to 5 stops fewer than {BUDGET:.0%} healthy runs{beside}"
            )
            continue
        best = allowed.loc[allowed["saved"].idxmax()]
        findings.append(
            f"{where}of those that stop at most {BUDGET:.0%} of the healthy runs "
            f"k={best['detector.k']} saves most, {interval(best, 'saved')}{beside}"
        )
    return Analysis(
        findings, tables(results, results.scores), {"k": curves(results, ["saved", "fpr_healthy"])}
    )
