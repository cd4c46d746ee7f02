"""``evalstop detectors``: the zoo, one line each."""

from evalstop.commands.options import AS_JSON


def detectors(
    as_json: bool = AS_JSON,
) -> None:
    """List the detectors with their settings and defaults."""
    from evalstop.commands.listing import show
    from evalstop.detectors.zoo import DETECTORS

    show(DETECTORS, as_json=as_json)
