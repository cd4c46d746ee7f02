"""``evalstop schedulers``: the policies, one line each."""

from evalstop.commands.options import AS_JSON


def schedulers(
    as_json: bool = AS_JSON,
) -> None:
    """List the schedulers with their settings and defaults."""
    from evalstop.commands.listing import show
    from evalstop.simulator.policies import SCHEDULERS

    show(SCHEDULERS, as_json=as_json)
