"""``evalstop track``: send finished results to MLflow, later or again."""

from pathlib import Path

import typer


def track(
    folders: list[Path] = typer.Argument(
        ..., metavar="DIR...", help="Folders that a command wrote, or folders of them."
    ),
) -> None:
    """Send finished results to MLflow; what is there already is not sent twice.

    The store is that of MLFLOW_TRACKING_URI, else evalstop-out/mlflow.db.
    """
    from evalstop.commands import tracked

    for folder in folders:
        tracked.track(folder)
