"""The search: the same trials however often it is killed, and whoever measures them."""

import errno
import json
import subprocess
import sys
import threading
from pathlib import Path

import optuna
import pytest
from toy_search import AXES, GRID, search, single

from evalstop.errors import UserError
from evalstop.studies.tuning import trials as trials_module
from evalstop.studies.tuning.space import Axis
from evalstop.studies.tuning.storage import FileLock, open_storage
from evalstop.studies.tuning.trials import (
    BATCH,
    TOLD,
    WORKER,
    Measured,
    Search,
    choose_sampler,
)

TOY = Path(__file__).with_name("toy_search.py")


def storage_in(folder, kind):
    return str(folder / "trials") if kind == "journal" else f"sqlite:///{folder}/trials.db"


def killed_often(storage, sampler, trials, kills, seed):
    """Run the toy program, which kills its own children."""
    arguments = [str(a) for a in (storage, sampler, trials, kills, seed)]
    done = subprocess.run(
        [sys.executable, TOY, *arguments], capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return json.loads(done.stdout)


def test_twenty_kills_change_nothing(tmp_path):
    wanted = search(str(tmp_path / "whole"), "tpe", 44)
    kills, found = killed_often(str(tmp_path / "killed"), "tpe", 44, 20, 1)
    assert kills == 20
    assert found
    assert all(each == json.loads(json.dumps(wanted)) for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["journal", "sqlite"])
@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "random", "grid"])
@pytest.mark.parametrize("seed", range(3))
def test_many_kills_change_nothing(tmp_path, sampler, kind, seed):
    trials = 18 if sampler == "grid" else 100
    wanted = search(str(tmp_path / "whole"), sampler, trials)
    kills, found = killed_often(storage_in(tmp_path, kind), sampler, trials, 60, seed)
    assert kills == 60
    assert all(each == json.loads(json.dumps(wanted)) for each in found)


class CutError(Exception):
    pass


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
@pytest.mark.parametrize(("asked", "told"), [(0, 0), (1, 0), (7, 0), (8, 0), (8, 3), (8, 7)])
def test_a_batch_cut_anywhere_is_finished_as_it_was_asked_for(
    tmp_path, monkeypatch, sampler, asked, told
):
    """In the second batch (or as the third begins, with a new generation): in the midst of asking
    for a trial, or after some were told.
    """
    wanted = search(str(tmp_path / "whole"), sampler, 22)
    counts = {"_suggest": 0, "_tell": 0}

    def cut_after(name, most):
        original = getattr(Search, name) if name == "_tell" else trials_module._suggest

        def cut(*arguments):
            counts[name] += 1
            if counts[name] > most:
                raise CutError
            return original(*arguments)

        return cut

    if told:
        monkeypatch.setattr(Search, "_tell", cut_after("_tell", BATCH + told))
    else:  # in the midst of the fields of a trial
        monkeypatch.setattr(
            trials_module, "_suggest", cut_after("_suggest", 3 * (BATCH + asked) + 1)
        )
    with pytest.raises(CutError):
        search(str(tmp_path / "cut"), sampler, 22)
    monkeypatch.undo()
    found = search(str(tmp_path / "cut"), sampler, 22)
    assert found == wanted


def test_what_is_told_is_not_measured_again(tmp_path):
    measured = []

    def count(settings):
        measured.append(len(settings))
        return single(settings)

    whole = search(str(tmp_path / "trials"), "tpe", 20, count)
    assert measured == [8, 8, 4]
    assert search(str(tmp_path / "trials"), "tpe", 20, count) == whole
    assert search(str(tmp_path / "trials"), "tpe", 12, count) == whole
    more = search(str(tmp_path / "trials"), "tpe", 26, count)
    assert more[:20] == whole
    assert measured == [8, 8, 4, 4, 2]


def test_a_grid_tries_every_point_once(tmp_path):
    found = search(str(tmp_path / "trials"), "grid", 100)
    assert [params for _, params, _, _ in found] == GRID
    assert search(str(tmp_path / "few"), "grid", 5) == found[:5]


def test_a_sampler_finds_more_than_chance(tmp_path):
    best = {
        sampler: max(values[0] for _, _, values, _ in search(str(tmp_path / sampler), sampler, 60))
        for sampler in ("tpe", "random")
    }
    assert best["tpe"] > best["random"]
    assert best["tpe"] > -0.05


def test_trials_of_a_process_that_lives_are_left_to_it_until_the_end(tmp_path):
    with open_storage(tmp_path / "trials") as storage:
        others = optuna.create_study(storage=storage, study_name="toy", direction="maximize")
    theirs = others.ask()
    theirs.set_user_attr(WORKER, "elsewhere 1 1")
    for axis in AXES:
        trials_module._suggest(theirs, axis)
    batches = []

    def count(settings):
        batches.append(list(settings))
        return single(settings)

    found = search(str(tmp_path / "trials"), "random", 12, count)
    assert [len(batch) for batch in batches] == [7, 4, 1]
    assert batches[-1] == [theirs.params]  # nothing else was left to do
    assert len(found) == 12


def test_a_trial_that_somebody_else_told_meanwhile_is_theirs(tmp_path):
    def told_by_others(settings):
        with open_storage(tmp_path / "trials") as storage:
            study = optuna.load_study(study_name="toy", storage=storage)
        first = min(t.number for t in study.trials if t.state == optuna.trial.TrialState.RUNNING)
        optuna.trial.Trial(study, study.trials[first]._trial_id).set_user_attr(
            TOLD, {"k": "theirs"}
        )
        study.tell(first, 7.0)
        return single(settings)

    found = search(str(tmp_path / "trials"), "random", 4, told_by_others)
    assert [(values, told) for _, _, values, told in found[:1]] == [([7.0], {"k": "theirs"})]
    assert len(found) == 4


def test_a_torn_line_of_the_journal_is_cut_off(tmp_path):
    whole = search(str(tmp_path / "trials"), "tpe", 12)
    with (tmp_path / "trials").open("ab") as file:
        file.write(b'{"op_code": 4, "wor')
    assert search(str(tmp_path / "trials"), "tpe", 12) == whole
    assert len(search(str(tmp_path / "trials"), "tpe", 20)) == 20


def test_the_lock_of_the_journal_lets_one_in_at_a_time(tmp_path):
    one, other = (FileLock(tmp_path / "lock") for _ in range(2))
    one.acquire()
    waits = threading.Thread(target=other.acquire)
    waits.start()
    waits.join(0.1)
    assert waits.is_alive()
    one.release()
    waits.join(10)
    assert not waits.is_alive()
    other.release()


@pytest.mark.parametrize(
    "url",
    ["nonsense://x", "postgresql://nobody:secret@127.0.0.1:1/x", "sqlite:////no/such/folder/x"],
)
def test_a_storage_that_cannot_be_used_is_one_line(monkeypatch, url):
    monkeypatch.setattr("evalstop.studies.tuning.storage.TRIES", 2)
    told = r"^storage .*cannot be used"
    with pytest.raises(UserError, match=told) as error, open_storage(url):
        pass
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


def test_a_journal_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    told = "cannot be written: (Not a directory|File exists), check the path"
    with pytest.raises(UserError, match=told), open_storage(tmp_path / "file" / "trials"):
        pass
    full = "trials: cannot be written: No space left on device"
    with pytest.raises(UserError, match=full), open_storage(tmp_path / "trials"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_the_sampler_that_fits():
    assert choose_sampler("auto", n_points=8, n_trials=100, single=False) == "grid"
    assert choose_sampler("auto", n_points=80, n_trials=16, single=True) == "tpe"
    assert choose_sampler("auto", n_points=None, n_trials=100, single=False) == "nsga2"
    assert choose_sampler("random", n_points=8, n_trials=100, single=True) == "random"
    with pytest.raises(UserError, match="a grid needs finitely many"):
        choose_sampler("grid", n_points=None, n_trials=100, single=True)


def test_values_that_are_not_finite_do_not_stop_a_search(tmp_path):
    def infinite(settings):
        return [Measured([float("inf")], {}) for _ in settings]

    asked = Search("odd", (Axis("x", 0.0, 1.0),), None, ("maximize",), "tpe", 0)
    with open_storage(tmp_path / "trials") as storage:
        assert len(asked.run(storage, 12, infinite)) == 12
