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
    from evalstop.console import notes
    from evalstop.errors import UserError
    from evalstop.studies.tracking.server import check, serving
    from evalstop.studies.tracking.store import tracking_uri

    uri = tracking_uri()
    if uri.startswith(("http://", "https://")):
        _show(uri.rstrip("/"))
        return
    port = check(uri, port)
    notes(["MLflow takes some seconds to start"])
    # The end of a terminal or of a login ends the server too.
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _stop)
    try:
        with serving(uri, port) as (address, process):
            _show(address)
            print("Ctrl-C stops it.", flush=True)
            status = process.wait()
    except KeyboardInterrupt:
        print("stopped")
    else:
        raise UserError(f"MLflow ended by itself (status {status}), start it again")


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _show(address: str) -> None:
    """Print where each study is."""
    from evalstop.console import plain
    from evalstop.studies.tracking.server import tracked
    from evalstop.studies.tracking.store import hide_passwords

    studies = tracked(address)
    what = "charts of each study:" if studies else "no study is tracked there yet"
    print(f"MLflow is at {hide_passwords(address)}; {what}")
    for study in studies:
        print(f"  {plain(study.name)}: {plain(study.question)}")
        print(f"    {plain(study.link)}", flush=True)
