"""Send what a command has written to MLflow, with the same lines for all of them."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalstop import console
from evalstop.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from evalstop.studies.tracking import Sent


def send(folder: Path) -> None:
    """Track all results in a folder; a failure is a warning, for the results are there."""
    later = f"`evalstop track {folder}` sends"
    try:
        track(folder)
    except UserError as error:
        console.warnings([f"not tracked: {error}; {later} the results later"])
    except KeyboardInterrupt:
        console.warnings([f"not all is tracked; {later} the rest"])
        raise


def track(folder: Path) -> None:
    """Track all results in a folder behind a progress bar; tell what was sent."""
    from evalstop.studies.tracking import results_folders
    from evalstop.studies.tracking import track as send_folder

    for found in results_folders(folder):
        with console.progress() as bar:
            task = bar.add_task(f"{found.name} to MLflow", total=None)
            sent = send_folder(found, partial(_advance, bar, task))
        _say(found, sent)


def _advance(bar: "Progress", task: "TaskID", done: int, total: int) -> None:
    bar.update(task, completed=done, total=total)


def _say(folder: Path, sent: "Sent") -> None:
    """Tell in a line what was sent, and how to look at it."""
    from evalstop.detectors.words import plural
    from evalstop.studies.tracking.store import shown, tracking_uri

    uri = tracking_uri()
    what = f"{sent.new or 'nothing new'} of {plural(sent.runs, 'run')}"
    look = f"{uri.rstrip('/')}{sent.link}" if uri.startswith("http") else "`evalstop ui` shows it"
    console.say(
        "tracked", f"{folder}: {what} in experiment {sent.experiment} of {shown(uri)}; {look}"
    )
