"""``evalstop schedulers``: the policies, one line each."""

import typer


def schedulers(
    as_json: bool = typer.Option(False, "--json", help="For a program to read."),
) -> None:
    """List the schedulers with their settings and defaults."""
    from evalstop.commands.listing import show
    from evalstop.simulator.policies import SCHEDULERS

    show(SCHEDULERS, as_json=as_json)
