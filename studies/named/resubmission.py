"""``resubmission``: what a wrong stop costs when the owner submits the job again.

A stop rule that stops healthy runs looks good as long as nobody comes back: the JCT of a job that
was stopped too early is short. Here its owner submits it again at once, with all of its work or
with what was left, and its JCT runs from the first submission.
"""

from evalstop.studies.analysis import Analysis, interval, tables, with_contender
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study
from evalstop.studies.summary import summarize

STUDY = Study(
    name="resubmission",
    question="What is left of a gain when wrongly stopped jobs come back?",
    worlds=("paper",),
    schedulers=("srtf-est",),
    detectors=("k-decline", "stop-at", "loss-plateau"),
    thresholds=("natural",),
    axes={"resubmit": ("never", "resume", "restart")},
    scores=("jct_gain", "gpu_time_cut", "wrongly_stopped"),
    seeds=50,
    runs=500,
)
SMOKE = STUDY.smaller(seeds=10)


def analyse(results: Results) -> Analysis:
    """Say what each rule gains with and without resubmission."""
    frame = with_contender(results.frame)
    told = summarize(frame, ["contender", "resubmit"], ["jct_gain", "wrongly_stopped"])
    findings = []
    for contender, rows in told.groupby("contender", sort=False):
        at = rows.set_index("resubmit")
        gains = ", ".join(f"{how} {interval(row, 'jct_gain')}" for how, row in at.iterrows())
        wrong = at["wrongly_stopped"].iloc[0]
        findings.append(f"{contender} ({wrong:.1f} wrong stops of 500 jobs): JCT gain {gains}")
    return Analysis(
        findings, tables(results, results.scores), {"resubmission": curves(results, ["jct_gain"])}
    )
