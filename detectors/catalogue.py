"""What can be named on the command line: our own members, entry points, ``path.py:Class``."""

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Generic, TypeVar

from evalstop.detectors.settings import build, name_of, nearest, parse_spec
from evalstop.errors import UserError

T = TypeVar("T")


@dataclass(frozen=True)
class Catalogue(Generic[T]):
    """The members of one kind (detectors, schedulers), found by name.

    Parameters
    ----------
    kind : str
        What a member is called in messages ("detector").
    members : tuple of type
        Our own classes, each with a class attribute ``name``.
    """

    kind: str
    members: tuple[type, ...]

    @property
    def group(self) -> str:
        """Entry-point group that outsiders add to: ``evalstop.detectors``."""
        return f"evalstop.{self.kind}s"

    def outsiders(self) -> dict[str, type]:
        """Load the members that other installed packages offer as entry points."""
        return {point.name: point.load() for point in entry_points(group=self.group)}

    def names(self) -> list[str]:
        """Give all names, ours first."""
        return [name_of(m) for m in self.members] + sorted(self.outsiders())

    def find(self, name: str, *, allow_path: bool = False) -> type:
        """Give the class of a name; `UserError` names the nearest known one.

        ``path.py:Class`` runs that file, so it is taken only where a user typed it (`allow_path`).
        """
        for member in self.members:
            if name_of(member) == name:
                return member
        if ".py:" in name:
            if not allow_path:
                raise UserError(
                    f"{name}: a file is run only when named on the command line; offer it as an "
                    f"entry point in the group {self.group}, then its name will do everywhere"
                )
            return load_class(name, self.kind)
        outsiders = self.outsiders()
        if name in outsiders:
            return outsiders[name]
        known = [name_of(m) for m in self.members] + sorted(outsiders)
        raise UserError(f"there is no {self.kind} {name!r}, {nearest(name, known)}")

    def build(
        self, spec: str, *, more: Mapping[str, str] | None = None, allow_path: bool = False
    ) -> T:
        """Make a member from ``NAME:field=value,...`` and further settings."""
        name, settings = parse_spec(spec)
        return self.make(self.find(name, allow_path=allow_path), name, settings | dict(more or {}))

    def make(self, cls: type, name: str, settings: Mapping[str, str]) -> T:
        """Make a member of a class that `find` gave."""
        try:
            made: T = build(cls, settings)
        except UserError:
            raise
        except Exception as error:  # a class of the user's that takes other arguments, or fails
            told = f"{type(error).__name__}: {error}"
            raise UserError(f"{name}: the {self.kind} cannot be made ({told}), mend it") from error
        return made


def load_class(name: str, kind: str) -> type:
    """Run ``path.py`` and give its class; only for a name typed by the user."""
    path, _, class_name = name.rpartition(":")
    file = Path(path)
    if not file.is_file():
        raise UserError(f"{name}: there is no file {path}, check the path of the {kind}")
    spec = importlib.util.spec_from_file_location(f"evalstop_outside_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise UserError(f"{name}: {path} cannot be imported, it must be a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        told = f"{type(error).__name__}: {error}"
        raise UserError(f"{name}: {path} fails when run ({told}), mend it") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        classes: Iterable[str] = (k for k, v in vars(module).items() if isinstance(v, type))
        raise UserError(
            f"{name}: {path} has no class {class_name!r}, {nearest(class_name, classes)}"
        )
    return found
