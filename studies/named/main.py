"""``main``: the paper's main table, EvalStop and its baselines on SRTF-Est, and better rules.

All in the paper's world on the paper's cluster. Beside the paper's rules stand rules whose
threshold is set to the paper's false-positive rate, 1.5 % of all jobs that are not hacking, and the
oracle that stops at the first eval at or after the true peak.
"""

from evalstop.studies.analysis import Analysis, by_score, interval, with_contender
from evalstop.studies.figures import dots
from evalstop.studies.results import Results
from evalstop.studies.study import Study
from evalstop.studies.summary import summarize

BUDGET = "matched:among=all"  # at most 1.5 % false positives, its default
K2, STOP_AT, LOSS = "k-decline @ natural", "stop-at @ natural", "loss-plateau @ natural"
ORACLE = "oracle @ natural"

STUDY = Study(
    name="main",
    question="What does EvalStop save on SRTF-Est, and what do other rules at its price?",
    worlds=("paper",),
    schedulers=("srtf-est",),
    detectors=(
        K2,
        STOP_AT,
        LOSS,
        f"drawdown @ {BUDGET}",
        f"ewma-drawdown:weight=0.7 @ {BUDGET}",
        f"slope-glr @ {BUDGET}",
        f"unimodal-glr @ {BUDGET}",
        f"gao-fit @ {BUDGET}",
        ORACLE,
    ),
    scores=("precision", "recall", "fpr_all", "recall_before_last", "waste_cut", "jct_gain"),
    seeds=50,
    runs=500,
)
SMOKE = STUDY.smaller(seeds=10)


def analyse(results: Results) -> Analysis:
    """Say what k=2 gives, what it misses, and what the best rule at its price gives."""
    frame = with_contender(results.frame)
    scores = [*results.scores, "fpr_healthy", "last_only", "jct_matched_gain"]
    told = summarize(frame, ["contender"], scores).set_index("contender")
    k2 = told.loc[K2]
    priced = told[told.index.str.endswith(BUDGET)]
    best = priced.loc[priced["waste_cut"].idxmax()]
    findings = [
        f"k=2: precision {interval(k2, 'precision')}, recall {interval(k2, 'recall')}, FPR "
        f"{interval(k2, 'fpr_all')}; the paper says .983, .993, .015",
        f"k=2: JCT gain {interval(k2, 'jct_gain')}, waste cut {interval(k2, 'waste_cut')}; the "
        "paper says .094, .218",
        f"{interval(k2, 'last_only')} of the true positives of k=2 come with the last eval and "
        f"save nothing; before it the recall is {interval(k2, 'recall_before_last')}",
        f"{best.name.split(' @ ')[0]} at the same false-positive rate cuts waste by "
        f"{interval(best, 'waste_cut')}, JCT by {interval(best, 'jct_gain')}",
    ]
    return Analysis(
        findings,
        [by_score(results, ["contender"], results.scores)],
        {"main": dots(results, "contender", ["waste_cut", "jct_gain"])},
    )
