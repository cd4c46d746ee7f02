"""Which logs are in a folder: every real file once, links not followed, runs named by place."""

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evalstop.detectors.logs.formats import mlflow_files

TRAINER_STATE = "trainer_state.json"
CHECKPOINT = re.compile(r"checkpoint-(\d+)")
# Names that trainers give to every log; the folder then tells the run.
GENERIC = re.compile(
    r"(trainer_state|trainer_log|log_history|metrics|history|log|logs|progress|monitor|evaluations|"
    r"events\.out\.tfevents\..*|results.*|train|eval|stdout|output|console|wandb-history)",
    re.IGNORECASE,
)
SKIPPED = frozenset([".git", ".trash", "__pycache__", "node_modules", ".venv"])


@dataclass
class Tree:
    """What is in a folder.

    `files` in natural order; `mlflow` the folders of MLflow runs; `links` what was not followed.
    """

    root: Path
    files: list[Path] = field(default_factory=list)
    mlflow: list[Path] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


def walk(root: Path) -> Tree:
    """Walk a folder without following links, and never into the same file twice."""
    tree = Tree(root)
    seen: set[tuple[int, int]] = set()
    for here, folders, names in os.walk(root, followlinks=False):
        folder = Path(here)
        links = [folder / name for name in folders + names if (folder / name).is_symlink()]
        tree.links += [link.relative_to(root).as_posix() for link in links]
        if mlflow_files.is_run(folder):
            tree.mlflow.append(folder)
            folders.clear()
            continue
        folders[:] = sorted(
            (n for n in folders if n not in SKIPPED and not (folder / n).is_symlink()), key=natural
        )
        for name in sorted(names, key=natural):
            path = folder / name
            if path.is_symlink() or not path.is_file():
                continue
            status = path.stat()
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                tree.files.append(path)
    return tree


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key by which step_9 comes before step_10."""
    return [
        (0, int(part)) if part.isdecimal() else (1, part.lower())
        for part in re.split(r"(\d+)", name)
        if part
    ]


def run_name(path: Path, root: Path | None = None) -> str:
    """Give the name of the run whose log is at `path`, below the folder that was asked for.

    The file's own name, unless every run's file is called that; then its folder's, without
    ``checkpoint-N``.
    """
    stem = path.stem
    if root is None:
        return stem if not GENERIC.fullmatch(stem) else _folder_name(path.parent) or stem
    parts = [p for p in path.parent.relative_to(root).parts if not CHECKPOINT.fullmatch(p)]
    if not GENERIC.fullmatch(stem):
        parts.append(stem)
    return "/".join(parts) or _folder_name(root) or stem


def _folder_name(folder: Path) -> str:
    folder = folder.resolve()
    while CHECKPOINT.fullmatch(folder.name):
        folder = folder.parent
    return folder.name


def trainer_states(files: list[Path]) -> Iterator[list[Path]]:
    """Give the trainer's states of each run: that of its own folder, then its checkpoints.

    The newest checkpoint comes first. Each state holds the whole history so far.
    """
    runs: dict[Path, list[tuple[float, Path]]] = {}
    for path in files:
        if path.name == TRAINER_STATE:
            match = CHECKPOINT.fullmatch(path.parent.name)
            run = path.parent.parent if match else path.parent
            runs.setdefault(run, []).append((float(match.group(1)) if match else math.inf, path))
    for states in runs.values():
        yield [path for _, path in sorted(states, reverse=True)]
