"""First in, first out among the jobs that fit; a large job may starve behind small ones."""

from evalstop.simulator.policies.fifo import Fifo


class FifoSkip(Fifo):
    """Order of submission, non-preemptive; skips what does not fit, no reservation."""

    name = "fifo-skip"
    discipline = "skip"
