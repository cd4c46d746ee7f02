"""Shortest job first by what the platform believes, among the jobs that fit."""

from evalstop.simulator.policies.sjf_est import SjfEst


class SjfEstSkip(SjfEst):
    """Shortest estimated duration first, non-preemptive; skips what does not fit."""

    name = "sjf-est-skip"
    discipline = "skip"
