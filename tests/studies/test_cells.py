"""Cells: named by all they depend on, sharing runs, kept in files that are whole or absent."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_cells import cells

from evalstop.detectors.catalogue import load_class
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.learned import Learned
from evalstop.simulator.worlds.paper import Paper
from evalstop.studies import cell as cell_module
from evalstop.studies.cell import Cell, compute, describe, source_of
from evalstop.studies.detection import Detection, Jobs, Judged
from evalstop.studies.store import Store
from evalstop.studies.thresholds import Matched, Natural

CELL = Cell(Detection(Paper(), Jobs()), Judged(KDecline(), Natural()), 0, 0)


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, seed=1),
        replace(CELL, repeat=1),
        replace(CELL, workload=Detection(Paper(sigma=0.05), Jobs())),
        replace(CELL, workload=Detection(Paper(), Jobs(runs=100))),
        replace(CELL, contender=Judged(KDecline(k=3), Natural())),
        replace(CELL, contender=Judged(KDecline(), Natural(last=False))),
        replace(CELL, contender=Judged(KDecline(), Matched())),
    ],
    ids=str,
)
def test_an_id_tells_all_that_a_result_depends_on(other):
    assert other.id != CELL.id
    same_runs = (other.workload, other.seed, other.repeat) == (CELL.workload, 0, 0)
    assert (other.stream == CELL.stream) == same_runs


@dataclass(frozen=True)
class Plain:
    size: float = 0.1


def test_an_id_is_the_same_tomorrow(monkeypatch):
    assert Cell(Plain(), Plain(2.0), 7, 1).id == "cc5a40bfdacef598f416"
    monkeypatch.setattr(cell_module, "SCHEMA", cell_module.SCHEMA + 1)
    assert replace(CELL).id != CELL.id


def test_what_is_not_ours_is_named_by_its_source_too(tmp_path):
    file = tmp_path / "rule.py"
    ids = []
    for sign in "-+":
        file.write_text(
            f"class Rule:\n    def statistic(self, prefix):\n        return {sign}prefix[:, -1]\n"
        )
        rule = load_class(f"{file}:Rule", "detector")()
        ids.append(replace(CELL, contender=Judged(rule, Matched())).id)
    assert ids[0] != ids[1]
    assert "source" not in describe(KDecline())


def test_a_learned_rule_is_named_by_its_numbers_too(tmp_path, monkeypatch):
    told = []
    for text in ("[1]", "[2]"):
        (tmp_path / "learned.json").write_text(text)
        monkeypatch.setattr(Learned, "numbers", str(tmp_path / "learned.json"))
        source_of.cache_clear()
        told.append(describe(Learned()))
    source_of.cache_clear()
    assert told[0]["source"] != told[1]["source"]
    assert told[0] | {"source": ""} == told[1] | {"source": ""}


def test_contenders_meet_the_same_runs_whatever_the_order():
    together = compute([c for c in cells() if c.stream == cells()[0].stream])
    assert len(together) == 3
    alone = [compute([c])[0] for c in cells() if c.stream == cells()[0].stream][::-1]
    assert [str(n) for n in together] == [str(n) for n in alone[::-1]]
    assert len({c.stream for c in cells()}) == 10
    assert compute([cells()[0]]) != compute([cells(seed=1)[0]])


@given(st.dictionaries(st.text(min_size=1), st.floats()))
def test_numbers_come_back_as_they_were(tmp_path_factory, numbers):
    store = Store(tmp_path_factory.mktemp("store"))
    store.save(CELL, numbers)
    np.testing.assert_equal(store.load(CELL), numbers)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "null",
        lambda text: "[1, 2]",
        lambda text: text.replace('"seed": 0', '"seed": 1'),
        lambda text: text.replace('"schema": 1', '"schema": 2'),
        lambda text: json.dumps(json.loads(text) | {"numbers": [1.0]}),
        lambda text: json.dumps(json.loads(text) | {"numbers": {"a": "many"}}),
        lambda text: json.dumps(json.loads(text) | {"numbers": {"a": None}}),
        lambda text: '{"cell": {}}',
    ],
)
def test_a_torn_or_foreign_file_counts_as_absent(tmp_path, spoil):
    store = Store(tmp_path)
    store.save(CELL, {"a": 1.0})
    assert store.load(CELL) == {"a": 1.0}
    store.path(CELL).write_text(spoil(store.path(CELL).read_text()))
    assert store.load(CELL) is None
    store.path(CELL).write_bytes(b"\xff\xfe\x00")
    assert store.load(CELL) is None
