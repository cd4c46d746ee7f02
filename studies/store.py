"""Where results live: one small file per cell, which is the truth, the cache and the resume point.

A file is written under a temporary name and put in place in one step, so that it is there whole or
not at all. A file that cannot be read, or says that it is of another cell, counts as absent.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from evalstop.detectors.storage import to_json, write_atomically
from evalstop.studies.cell import Cell

Numbers = dict[str, float]


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : path
        Made when the first result is saved.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """Give the file of a cell."""
        return self.folder / f"{cell.id}.json"

    def load(self, cell: Cell) -> Numbers | None:
        """Give the numbers of a cell, or ``None`` if it has to be computed."""
        try:
            told = json.loads(self.path(cell).read_text("utf-8"))
            if told["cell"] != cell.identity:
                return None
            return {str(name): float(value) for name, value in told["numbers"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def save(self, cell: Cell, numbers: Mapping[str, float]) -> None:
        """Write the file of a cell; numbers that JSON does not have become words."""
        told = {"cell": cell.identity, "numbers": {k: to_json(v) for k, v in numbers.items()}}
        write_atomically(self.path(cell), json.dumps(told, indent=1, allow_nan=False) + "\n")
