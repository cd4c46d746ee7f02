"""``evalstop ui``: tracked studies in the browser."""

import signal
from types import FrameType

import typer


def ui(
    port: int = typer.Option(5000, "--port", help="Port on this machine; 0 takes a free one."),
) -> None:
    """Show tracked studies in MLflow, on this machine only, until Ctrl-C.

    The store is that of MLFLOW_TRACKING_URI, else evalstop-out/mlflow.db.
    """
    from evalstop.studies.tracking.server import serving
    from evalstop.studies.tracking.store import tracking_uri

    uri = tracking_uri()
    if uri.startswith(("http://", "https://")):
        _show(uri.rstrip("/"))
        return
    # The end of a terminal or of a login ends the server too.
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _stop)
    try:
        with serving(uri, port) as (address, process):
            _show(address)
            print("Ctrl-C stops it.", flush=True)
            process.wait()
    except KeyboardInterrupt:
        print("stopped")


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _show(address: str) -> None:
    """Print where each study is."""
    from evalstop.console import plain
    from evalstop.studies.tracking.server import tracked
    from evalstop.studies.tracking.store import hide_passwords

    studies = tracked(address)
    print(f"MLflow is at {hide_passwords(address)}; charts of {len(studies)} studies:")
    for study in studies:
        print(f"  {plain(study.name)}: {plain(study.question)}")
        print(f"    {plain(study.link)}", flush=True)
