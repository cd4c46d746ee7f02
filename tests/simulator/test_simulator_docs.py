"""The scheduler that the docs show works, and the table of schedulers is complete."""

import re
from pathlib import Path

import pytest

from evalstop.simulator import SCHEDULERS, Job, Truth, Workload, build_policy, simulate

PAGE = Path(__file__).parents[2] / "docs" / "simulator.md"


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_template_of_a_scheduler_shares_fairly(page, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "fair.py").write_text(code)
    policy = build_policy(f"{tmp_path}/fair.py:Fair", outside=True)
    jobs = [Job(str(i), i, 1, 10, tenant="few" if i == 5 else "many") for i in range(6)]
    run = simulate(Workload(jobs, [Truth(10)] * 6), policy, 1)
    assert sorted(run.ends).index(run.ends[5]) == 1
    assert run.ends[:2] == [10, 30]


def test_the_table_has_every_scheduler_but_the_elastic_ones(page):
    (table,) = re.findall(r"\| name \| order.*?\n\n", page, re.DOTALL)
    listed = {name for row in table.splitlines() for name in re.findall(r"`([a-z-]+)`", row)}
    members = {m.name for m in SCHEDULERS.members if m.discipline != "elastic"}
    assert listed == members
