"""``actions``: stop the job, put it behind all others, or wait for a person.

Schedulers before EvalStop could only deprioritise: the job starves but keeps its place. A person
who watches reacts late, here after eight hours.
"""

from evalstop.studies.analysis import Analysis, by_score, interval
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study
from evalstop.studies.summary import summarize

WORDS = {
    ("stop", 0.0): "stopped at once",
    ("deprioritise", 0.0): "put behind all others",
    ("stop", 28800.0): "stopped by a person after 8 h",
    ("deprioritise", 28800.0): "put behind all others by a person after 8 h",
}

STUDY = Study(
    name="actions",
    question="What is it worth to stop a job, rather than starve it or wait for a person?",
    worlds=("paper",),
    schedulers=("srtf-est",),
    detectors=("k-decline",),
    thresholds=("natural",),
    axes={"on_alarm": ("stop", "deprioritise"), "reaction_delay": (0.0, 28800.0)},
    scores=("jct_gain", "jct_matched_gain", "waste_cut"),
    seeds=50,
    runs=500,
)
SMOKE = STUDY.smaller(seeds=10)


def analyse(results: Results) -> Analysis:
    """Say what each action gains."""
    told = summarize(results.frame, list(STUDY.axes), results.scores)
    findings = [
        f"jobs with an alarm are {WORDS[row['on_alarm'], row['reaction_delay']]}: JCT gain "
        f"{interval(row, 'jct_gain')}, of the other jobs {interval(row, 'jct_matched_gain')}, "
        f"waste cut {interval(row, 'waste_cut')}"
        for _, row in told.iterrows()
    ]
    return Analysis(
        findings,
        [by_score(results, list(STUDY.axes), results.scores)],
        {"actions": curves(results, ["jct_matched_gain"])},
    )
