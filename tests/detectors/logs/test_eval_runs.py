import numpy as np
import pytest

from evalstop.detectors.logs.curve import Curve, Reading
from evalstop.detectors.logs.eval_runs import eval_runs
from evalstop.errors import UserError


def curve(run, metric, role, steps, values, *, higher=True, **more):
    steps, values = np.array(steps, dtype=float), np.array(values, dtype=float)
    return Curve(run, metric, role, higher if role == "eval" else None, steps, values, **more)


ACC = curve("r", "acc", "eval", [10, 20, 30], [0.5, np.nan, 0.7])
LOSS = curve("r", "loss", "train_loss", [5, 12, 20, 31], [3, 2, 1, 0.5])
PPL = curve("q", "ppl", "eval", [100, 200], [9, 7], higher=False)


def test_each_eval_curve_is_a_run_with_higher_better():
    evals = eval_runs(Reading(curves=[ACC, LOSS, PPL]))
    assert [c.metric for c in evals.curves] == ["acc", "ppl"]
    assert evals.runs.n_evals.tolist() == [3, 2]
    np.testing.assert_array_equal(evals.runs.score, [[0.5, np.nan, 0.7], [-9, -7, np.nan]])
    np.testing.assert_array_equal(evals.runs.step[1], [100, 200, np.nan])


def test_channels_are_the_last_row_at_or_before_each_eval():
    evals = eval_runs(Reading(curves=[ACC, LOSS, PPL]))
    np.testing.assert_array_equal(evals.runs.loss, [[3, 1, 1], [np.nan] * 3])
    assert evals.runs.kl is None


def test_progress_is_step_over_the_last_step_of_the_run():
    evals = eval_runs(Reading(curves=[ACC, LOSS, PPL]))
    assert evals.derived_progress
    np.testing.assert_allclose(evals.runs.progress[0], np.array([10, 20, 30]) / 31)
    assert evals.runs.progress[1, :2].tolist() == [0.5, 1]


def test_runs_of_two_sources_may_share_a_name():
    longer = curve("r", "acc", "eval", [10, 80], [1, 2], source="b", labels={"source": "b"})
    short = curve("r", "acc", "eval", [10, 20], [1, 2], source="a", labels={"source": "a"})
    evals = eval_runs(Reading(curves=[longer, short]))
    assert evals.runs.progress.tolist() == [[0.125, 1], [0.5, 1]]


def test_a_logged_progress_is_taken():
    told = curve("r", "progress", "signal", [10, 20, 30], [0.1, 0.2, 0.3])
    evals = eval_runs(Reading(curves=[ACC, told]))
    assert not evals.derived_progress
    assert evals.runs.progress[0].tolist() == [0.1, 0.2, 0.3]


def test_progress_is_a_share():
    told = curve("r", "progress", "signal", [10, 20, 30], [10, 20, 30])
    with pytest.raises(UserError, match="r: its progress must be a share"):
        eval_runs(Reading(curves=[ACC, told]))


def test_steps_that_tell_nothing_leave_the_share_of_evals():
    evals = eval_runs(Reading(curves=[curve("r", "acc", "eval", [-20, -10, 0], [1, 2, 3])]))
    np.testing.assert_allclose(evals.runs.progress[0], [1 / 3, 2 / 3, 1])


def test_an_unknown_direction_is_refused_with_the_option_to_give():
    unknown = curve("r", "quality", "eval", [1], [1], higher=None)
    with pytest.raises(UserError, match="add --direction quality=higher"):
        eval_runs(Reading(curves=[ACC, unknown]))


def test_nothing_to_judge():
    with pytest.raises(UserError, match="no eval curve"):
        eval_runs(Reading(curves=[LOSS]))
