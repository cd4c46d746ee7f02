"""``composability``: EvalStop around every scheduler.

The paper has FIFO, SJF-Est, SRTF-Est and LossAware (which is told the loss rates); beside them
stand schedulers that it names and does not run: LossAware as published (fitted to observed losses),
Tiresias, and Pollux with its elastic jobs.
"""

from evalstop.studies.analysis import Analysis, along, by_score, interval
from evalstop.studies.figures import dots
from evalstop.studies.results import Results
from evalstop.studies.study import Study

PAPER = {
    "fifo-skip": "within .089-.252",
    "sjf-est-skip": "within .089-.252",
    "srtf-est": ".094",
    "loss-aware:rate=given": "within .089-.252",
}

STUDY = Study(
    name="composability",
    question="What is EvalStop worth around each scheduler?",
    worlds=("paper",),
    schedulers=(*PAPER, "loss-aware", "tiresias", "pollux"),
    detectors=("k-decline",),
    thresholds=("natural",),
    scores=("jct_gain", "jct_matched_gain", "jct_p95_gain", "waste_cut", "jct_base_hours"),
    seeds=50,
    runs=500,
)
SMOKE = STUDY.smaller(seeds=4)


def analyse(results: Results) -> Analysis:
    """Say what the stops are worth, scheduler by scheduler."""
    told = along(results, "k-decline", "scheduler", results.scores)
    findings = []
    for scheduler, row in told.iterrows():
        paper = PAPER.get(str(scheduler))
        says = f"; the paper says {paper}" if paper else "; the paper has no such row"
        findings.append(
            f"{scheduler}: JCT gain {interval(row, 'jct_gain')}, over the jobs never stopped "
            f"{interval(row, 'jct_matched_gain')}{says}"
        )
    return Analysis(
        findings,
        [by_score(results, ["scheduler"], results.scores)],
        {"composability": dots(results, "scheduler", ["jct_gain", "jct_matched_gain"])},
    )
