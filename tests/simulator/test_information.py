"""What a policy is handed leads nowhere near the truth, and decisions show it."""

import dataclasses
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_against_naive import RULES, clusters

from evalstop.errors import UserError
from evalstop.simulator import Job, Policy, Truth, Workload, build_policy, simulate
from evalstop.simulator.engine import Engine

ORACLES = ("srtf", "srsf", "sjf-skip", "loss-aware:rate=given")
BLIND = [scheduler for scheduler in RULES if scheduler not in ORACLES]


def reachable(root):
    """Walk all that attributes, items, closures and bound methods lead to."""
    leaves = int | float | complex | str | bytes | None | type | types.ModuleType
    found, todo = {}, [root]
    while todo:
        thing = todo.pop()
        if id(thing) in found:
            continue
        found[id(thing)] = thing
        if isinstance(thing, leaves):
            continue
        if isinstance(thing, dict):
            todo += [*thing.keys(), *thing.values()]
        elif isinstance(thing, list | tuple | set | frozenset):
            todo += thing
        elif isinstance(thing, types.FunctionType):
            todo += [cell.cell_contents for cell in thing.__closure__ or ()]
            todo += [*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
        elif isinstance(thing, types.GeneratorType) and thing.gi_frame:
            todo += thing.gi_frame.f_locals.values()
        else:
            for name in dir(thing):
                if not name.startswith("__") or name in ("__self__", "__func__", "__dict__"):
                    todo.append(getattr(thing, name, None))
    return list(found.values())


class Spy(Policy):
    """Keeps what it is handed and looks through it, in the middle of a run."""

    name = "spy"
    discipline = "preempt"
    reads_losses = True

    def __init__(self):
        self.handed = []
        self.seen = {}

    def begin(self, gpus, truths):
        self.handed += [gpus, truths]
        return self

    def key(self, job, now):
        self.handed.append(job)
        self.seen.update((id(thing), thing) for thing in reachable([job, self.handed]))
        return job.order % 3

    def review(self, job, now):
        return now + 5

    def ended(self, job, now):
        self.handed.append(job)
        return False


def test_no_path_leads_from_what_a_policy_is_handed_to_a_truth():
    spy = Spy()
    secrets = np.random.default_rng(0).uniform(10, 20, (2, 8)).tolist()
    jobs = [make_job(i, submit=0.1 + 2 * i, gpus=1 + i % 3) for i in range(8)]
    workload = Workload(jobs, [Truth(*secret) for secret in zip(*secrets, strict=True)])
    simulate(workload, spy, 3, overhead=1)
    things = list(spy.seen.values())
    assert len(things) > 50
    assert not [t for t in things if isinstance(t, Truth | Workload | Engine)]
    assert not {*secrets[0], *secrets[1]} & {t for t in things if isinstance(t, float)}


def test_the_walk_finds_a_truth_where_there_is_one():
    class Leaky(Spy):
        """Oracle on purpose."""

        oracle = True

    spy = Leaky()
    workload = Workload([make_job(i) for i in range(3)], [Truth(1.0)] * 3)
    simulate(workload, spy, 1)
    assert any(isinstance(t, Truth) for t in spy.seen.values())


def make_job(i, submit=0, gpus=1):
    return Job(f"job {i}", submit, gpus, estimate=12)


@pytest.mark.parametrize("scheduler", BLIND)
@settings(max_examples=25)
@given(cluster=clusters(), overhead=st.sampled_from([0, 2]), when=st.floats(0, 1), data=st.data())
def test_decisions_up_to_t_do_not_depend_on_what_happens_later(
    scheduler, cluster, overhead, when, data
):
    gpus, workload, _ = cluster
    first = simulate(workload, build_policy(scheduler), gpus, overhead=overhead)
    t = sorted([*first.starts, *first.ends])[int(when * (2 * len(workload) - 1))]
    truths = []
    for truth, end in zip(workload.truths, first.ends, strict=True):
        if end > t:  # twice as long and twice as steep: the same loss curve for twice the time
            truths.append(Truth(truth.duration * 2, truth.loss_rate * 2))
        elif scheduler.startswith("loss-aware"):
            truths.append(truth)
        else:  # a label that no policy here reads
            truths.append(dataclasses.replace(truth, loss_rate=data.draw(st.floats(1, 9))))
    jobs = [dataclasses.replace(job, id=f"other {job.id}") for job in workload.jobs]
    second = simulate(Workload(jobs, truths), build_policy(scheduler), gpus, overhead=overhead)
    assert decisions(first, t) == decisions(second, t)


def decisions(run, t):
    """Starts, preemptions and ends at times up to t."""
    stints = run.stints
    last = [*stints.first[1:], True]
    rows = zip(stints.job, stints.granted, stints.stopped, last, strict=True)
    events = []
    for job, granted, stopped, is_last in rows:
        events.append((granted, "start", job))
        events.append((stopped, "end" if is_last else "preempted", job))
    return sorted(event for event in events if event[0] <= t)


def test_an_oracle_must_say_so(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from evalstop.simulator import Oracle, Policy\n"
        "class Quiet(Oracle):\n"
        "    'Shortest first.'\n"
        "    name = 'quiet'\n"
        "    def key(self, job, now): return self.durations[job.order]\n"
        "class Open(Quiet):\n"
        "    'Oracle: shortest first.'\n"
        "class Stranger:\n"
        "    'No policy.'\n"
        "class Odd(Policy):\n"
        "    'Does something else.'\n"
        "    discipline = 'wait'\n"
    )
    assert build_policy(f"{file}:Open", outside=True).oracle
    for name, problem in (
        ("Quiet", "must say oracle"),
        ("Stranger", "no subclass"),
        ("Odd", "discipline must be"),
    ):
        with pytest.raises(UserError, match=problem):
            build_policy(f"{file}:{name}", outside=True)


@pytest.mark.parametrize("scheduler", ORACLES)
def test_every_oracle_of_ours_says_so(scheduler):
    policy = build_policy(scheduler)
    assert policy.oracle
    assert "oracle" in type(policy).__doc__.splitlines()[0].lower()
