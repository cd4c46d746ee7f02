"""All logs of a folder: what is no log is passed over, what is one but cannot be read is told."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.folders import (
    CHECKPOINT,
    TRAINER_STATE,
    Tree,
    run_name,
    trainer_states,
    walk,
)
from evalstop.detectors.logs.formats import mlflow, mlflow_files, tensorboard
from evalstop.detectors.logs.log import Ask
from evalstop.detectors.logs.problems import NoCurveError, NotALogError
from evalstop.detectors.logs.reader import read_file
from evalstop.detectors.logs.rules.sentences import some
from evalstop.detectors.logs.series import Found
from evalstop.detectors.words import plural
from evalstop.errors import UserError


def read_folder(root: Path, ask: Ask, failed: list[str]) -> Found:
    """Read every log in a folder and below; `failed` gets a sentence on each that cannot be."""
    tree = walk(root)
    found, without, before = Found(), list[str](), len(failed)
    if tree.links:
        found.notes.append(f"{root}: links not followed: {some(tree.links)}")
    for read in _jobs(tree, replace(ask, browsing=True), found):
        try:
            told = read()
        except NotALogError:
            continue
        except NoCurveError as none:
            without.append(str(none))
        except UserError as error:
            failed.append(str(error))
        except OSError as error:
            failed.append(f"{error.filename or root}: cannot be read ({error.strerror or error})")
        else:
            found.runs += [
                replace(run, joins="first") if run.joins == "never" else run for run in told.runs
            ]
            found.warnings += told.warnings
            found.notes += told.notes
    if not found.runs and len(failed) == before:
        if without:
            raise NoCurveError(
                without[0] + (f" (and {len(without) - 1} more)" if without[1:] else "")
            )
        raise NotALogError(
            f"{root}: no training log of a known format in it ({plural(len(tree.files), 'file')})"
        )
    found.notes += without
    return found


def _jobs(tree: Tree, ask: Ask, found: Found) -> Iterator[Callable[[], Found]]:
    """Give what to read, one log each: several files may be one log."""
    if tree.mlflow:
        yield partial(_mlflow_runs, tree, ask)
    for states in trainer_states(tree.files):
        yield partial(_newest, [_file(path, tree, ask) for path in states])
    events: dict[Path, list[Path]] = {}
    reports: list[LogFile] = []
    for path in tree.files:
        file = _file(path, tree, ask)
        if path.name == TRAINER_STATE or file.size == 0:
            continue
        if tensorboard.fits(file):
            events.setdefault(path.parent, []).append(path)
        elif path.suffix.lower() in (".md", ".markdown"):
            reports.append(file)
        else:
            yield partial(read_file, file)
    for paths in events.values():
        yield partial(tensorboard.read_run, paths, run_name(paths[0], tree.root), ask)
    for file in reports:  # a model card tells the log of its run once more, rounded
        if not any(file.path.parent in Path(run.source).parents for run in found.runs):
            yield partial(read_file, file)


def _file(path: Path, tree: Tree, ask: Ask) -> LogFile:
    place = path.parent.relative_to(tree.root).parts
    return LogFile(path, run_name(path, tree.root), ask, place)


def _newest(states: Sequence[LogFile]) -> Found:
    """Read the trainer's state of one run that reaches furthest; torn ones give way to the next.

    The first is of the run's own folder if there is one, the others are checkpoints, newest first.
    """
    best: tuple[float, Found] | None = None
    errors: list[UserError] = []
    for state in states:
        try:
            found = read_file(state)
        except UserError as told:
            errors.append(told)
            continue
        last = max(p.step for run in found.runs for s in run.series for t in s.streams for p in t)
        if best is None or last > best[0]:
            best = last, found
        if CHECKPOINT.fullmatch(state.path.parent.name):
            break
    if best is None:
        raise errors[0]
    best[1].warnings += [
        f"{told}; an older checkpoint of the run is read instead" for told in errors
    ]
    return best[1]


def _mlflow_runs(tree: Tree, ask: Ask) -> Found:
    """Read the runs of an MLflow file store that were not deleted."""
    runs: dict[str, tuple[str, Found | NoCurveError]] = {}
    for folder in sorted(tree.mlflow, key=mlflow_files.started):
        if mlflow_files.is_deleted(folder):
            continue
        run_id, name = mlflow_files.identity(folder)
        try:
            runs[run_id] = name, mlflow_files.read_folder(folder, ask)
        except NoCurveError as none:
            runs[run_id] = name, none
    return mlflow.all_runs(str(tree.root), runs)
