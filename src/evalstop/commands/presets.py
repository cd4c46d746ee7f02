"""``evalstop presets``: worlds that make runs, and presets (a world and a cluster)."""

from typing import Any

from evalstop.commands.options import AS_JSON


def presets(
    as_json: bool = AS_JSON,
) -> None:
    """List the worlds and presets of the simulator with their settings and defaults."""
    from evalstop.commands.listing import describe
    from evalstop.console import notes, print_json, table
    from evalstop.simulator import presets as clusters
    from evalstop.simulator import worlds

    found = {
        catalogue.kind: [describe(m) for m in (*catalogue.members, *catalogue.outsiders().values())]
        for catalogue in (worlds.CATALOGUE, clusters.CATALOGUE)
    }
    if as_json:
        print_json([{"kind": kind, **m} for kind, members in found.items() for m in members])
        return
    shared = describe(worlds.World)["settings"]
    everything = {"world": shared, "preset": {}}
    for kind, members in found.items():
        rows = [
            (m["name"], m["description"], _beyond(everything[kind], m["settings"])) for m in members
        ]
        if everything[kind]:
            rows.insert(0, ("(all)", "What all worlds can be told.", _beyond({}, shared)))
        table("", (kind, "what it does", "settings and their defaults"), rows)
    notes(
        [
            "the paper worlds and presets are fitted, not disclosed by the authors: EvalStop has "
            "published its tables, neither its code nor the laws and sizes behind them"
        ]
    )


def _beyond(shared: dict[str, Any], settings: dict[str, Any]) -> str:
    """Write the settings that are not shared, or have another default."""
    from evalstop.detectors.settings import write

    return " ".join(
        f"{name}={write(told['default'])}"
        for name, told in settings.items()
        if name not in shared or told["default"] != shared[name]["default"]
    )
