"""``evalstop detectors``: the zoo, one line each."""

import typer


def detectors(
    as_json: bool = typer.Option(False, "--json", help="For a program to read."),
) -> None:
    """List the detectors with their settings and defaults."""
    from evalstop.commands.listing import show
    from evalstop.detectors.zoo import DETECTORS

    show(DETECTORS, as_json=as_json)
