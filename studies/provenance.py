"""What results were made with."""

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import evalstop
from evalstop.studies.cell import SCHEMA

PACKAGES = ("evalstop", "numpy", "scipy", "scikit-learn", "joblib")


def provenance() -> dict[str, object]:
    """Give the versions that numbers depend on, and the commit of a checkout (``None`` outside)."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    return {"schema": SCHEMA, "versions": versions, "commit": commit()}


def commit() -> str | None:
    """Give the commit of the checkout that the code runs from, ``+`` = with changes."""
    file = Path(evalstop.__file__).resolve()

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(file.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", file.name)  # not a checkout that we happen to lie in
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None
