"""``load``: a stop frees GPUs for others; what that is worth depends on who waits for them."""

from evalstop.studies.analysis import Analysis, along, interval, tables
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study

K2 = "k-decline @ natural"
BETTER = "unimodal-glr @ matched:among=all"

STUDY = Study(
    name="load",
    question="How much does a stop save at which load?",
    worlds=("paper",),
    schedulers=("srtf-est",),
    detectors=(K2, BETTER),
    axes={"load": (0.6, 0.8, 0.9, 1.0, 1.07, 1.2)},
    scores=("jct_gain", "jct_matched_gain", "waste_cut", "jct_base_hours"),
    seeds=30,
    runs=500,
)
SMOKE = STUDY.smaller(seeds=6, load=(0.6, 1.07))


def analyse(results: Results) -> Analysis:
    """Say what k=2 gains at each load."""
    told = along(results, K2, "load", results.scores)
    findings = [
        f"load {load:g}: k=2 cuts JCT by {interval(row, 'jct_gain')}, that of the jobs never "
        f"stopped by {interval(row, 'jct_matched_gain')}"
        for load, row in told.iterrows()
    ]
    return Analysis(
        findings,
        tables(results, results.scores),
        {"load": curves(results, ["jct_gain", "jct_matched_gain"])},
    )
