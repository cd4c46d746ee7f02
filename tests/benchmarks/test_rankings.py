"""The frozen rankings: what holds the same for every rule."""

import numpy as np
import pytest

from evalstop.benchmarks.rankings import FPR, R1, R2, R3, RANKINGS, mean_by_seed, rank
from evalstop.detectors.zoo.always import Always
from evalstop.detectors.zoo.ewma_drawdown import EwmaDrawdown
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.never import Never


def test_cells():
    assert [len(r.cells) for r in RANKINGS] == [1, 12, 18]


@pytest.mark.parametrize("ranking", RANKINGS, ids=lambda r: r.name)
def test_never_stopping_saves_nothing_and_keeps_the_promise(ranking):
    cells = rank(Never(), ranking, seed=0, runs=60)
    assert [c.cell for c in cells] == list(ranking.cells)
    assert all((c.score, c.recall, c.fpr, c.premature) == (0, 0, 0, 0) for c in cells)


def test_a_constant_statistic_gets_a_threshold_that_it_never_reaches():
    assert all(c.fpr == c.recall == 0 for c in rank(Always(), R1, seed=0, runs=60))


def test_one_threshold_is_the_highest():
    shared = rank(EwmaDrawdown(), R2, seed=1, runs=300)
    assert len({c.threshold for c in shared}) == 1
    assert len({c.threshold for c in rank(EwmaDrawdown(), R3, seed=1, runs=90)}) > 12
    # Noise of .12 needs the highest threshold, noise of .01 could do with a far lower one.
    told = {c.cell: c for c in shared}
    assert told["sigma 0.01"].fpr == 0 < told["sigma 0.01"].recall


def test_a_seed_names_the_runs():
    first, again, other = (rank(EwmaDrawdown(), R1, seed=s, runs=300) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_papers_world_gives_known_scores():
    # golden/paper_preset.json, "before-last": .26373 for k=2 with tolerance at the same budget.
    cells = rank(KDecline(form="tolerance"), R1, seed=3, runs=4000)
    assert abs(mean_by_seed(cells)[0] - 0.264) < 0.02
    assert abs(cells[0].fpr - FPR * 0.52 / 0.32) < 0.01
    assert np.isclose(R3.fpr, 0.015)
