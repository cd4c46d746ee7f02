"""``rlhf-share``: mixed workloads, from few RLHF jobs among LoRA and DPO to nothing else."""

from evalstop.studies.analysis import Analysis, along, interval, tables
from evalstop.studies.figures import curves
from evalstop.studies.results import Results
from evalstop.studies.study import Study

K2 = "k-decline @ natural"

STUDY = Study(
    name="rlhf-share",
    question="What is EvalStop worth on mixed workloads?",
    worlds=("paper",),
    schedulers=("srtf-est",),
    detectors=(K2, "unimodal-glr @ matched"),
    axes={"rlhf_share": (0.2, 0.4, 0.6, 0.8, 1.0)},
    scores=("jct_gain", "jct_matched_gain", "waste_cut", "fpr_all"),
    seeds=30,
    runs=500,
)
SMOKE = STUDY.smaller(seeds=6, rlhf_share=(0.2, 0.8))


def analyse(results: Results) -> Analysis:
    """Say what k=2 gains at each share, and how the share alone moves its false-positive rate."""
    told = along(results, K2, "rlhf_share", results.scores)
    findings = [
        f"{share:.0%} RLHF: JCT gain of k=2 {interval(row, 'jct_gain')}, its FPR over all jobs "
        f"that are not hacking {interval(row, 'fpr_all')}"
        for share, row in told.iterrows()
    ]
    return Analysis(
        findings,
        tables(results, results.scores),
        {"rlhf-share": curves(results, ["jct_gain", "fpr_all"])},
    )
