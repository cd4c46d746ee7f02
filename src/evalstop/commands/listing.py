"""How ``detectors``, ``schedulers`` and ``presets`` show what there is."""

import dataclasses
from typing import Any

from evalstop.console import print_json, table
from evalstop.detectors.catalogue import Catalogue
from evalstop.detectors.settings import name_of, write


def first_line(cls: type) -> str:
    """Give the first line of a docstring."""
    return (cls.__doc__ or "").strip().splitlines()[0] if cls.__doc__ else ""


def describe(cls: type) -> dict[str, Any]:
    """Give name, description and fields (default, unit, range, choices) of a member."""
    fields = {
        f.name: {
            "default": f.default,
            "unit": f.metadata.get("unit", ""),
            "range": [f.metadata.get("low"), f.metadata.get("high")],
            "choices": list(f.metadata.get("choices", ())),
            "doc": f.metadata.get("doc", ""),
        }
        for f in (dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ())
    }
    return {"name": name_of(cls), "description": first_line(cls), "settings": fields}


def show(catalogue: Catalogue[Any], *, as_json: bool) -> None:
    """Print the members of a catalogue, as a table or as JSON."""
    members = [*catalogue.members, *catalogue.outsiders().values()]
    if as_json:
        print_json([describe(m) for m in members])
        return
    rows = []
    for member in members:
        told = describe(member)
        fields = (f"{k}={write(v['default'])}" for k, v in told["settings"].items())
        rows.append((told["name"], told["description"], " ".join(fields)))
    table("", (catalogue.kind, "what it does", "settings and their defaults"), rows)
