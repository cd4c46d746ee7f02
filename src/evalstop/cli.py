"""The ``evalstop`` command: one module per command, errors as one line.

Commands import the rooms inside their functions, so that ``evalstop --help`` starts at once.
"""

import sys
import warnings
from io import TextIOWrapper
from typing import Any

import typer

from evalstop import __version__
from evalstop.commands import COMMANDS
from evalstop.console import error, say
from evalstop.errors import UserError

INTERRUPTED = 130

app = typer.Typer(
    name="evalstop",
    help="When should an RLHF run stop? Detectors of reward over-optimisation, and what they save.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"evalstop {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
) -> None:
    """Hold the options of every command (``--debug`` is taken by `main`)."""


for command in COMMANDS:
    app.command(command.__name__.replace("_", "-").rstrip("-"))(command)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; give the exit status (0 fine, 2 error, others as the command says)."""
    args = sys.argv[1:] if arguments is None else arguments
    options_end = args.index("--") if "--" in args else len(args)
    debug = "--debug" in args[:options_end]
    args = [a for i, a in enumerate(args) if a != "--debug" or i > options_end]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what the terminal's encoding lacks becomes "?"
            stream.reconfigure(errors="replace")
    with warnings.catch_warnings():
        warnings.showwarning = _show
        return _status(args, debug)


def _show(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning of Python's, as a rule of the user's may give it, like those of ours."""
    say("warning", message)


def _status(args: list[str], debug: bool) -> int:
    """Run the command line; turn what it raises into a line and a status."""
    try:
        return int(_run(args) or 0)
    except KeyboardInterrupt:
        error("interrupted: finished work is saved, run the same command again to go on")
        return INTERRUPTED
    except UserError as told:
        if debug:
            raise
        error(str(told))
        return 2
    except MemoryError:
        if debug:
            raise
        error("memory: there is not enough, take fewer or shorter runs, or fewer --jobs")
        return 2
    except Exception as told:  # a defect of ours still ends in one line
        if debug:
            raise
        error(f"{type(told).__name__}: {told}; run with --debug and report it")
        return 2


def _run(args: list[str]) -> Any:  # noqa: ANN401 - what typer gives back
    """Run typer; turn its usage errors into ours."""
    try:
        status = app(args, standalone_mode=False)
    except typer.Exit as end:
        return end.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as told:
        if hasattr(told, "format_message"):  # a usage error of typer
            told_plainly = " ".join(told.format_message().split())
            if told_plainly and not told_plainly.endswith((".", "?")):
                told_plainly += "."
            if not told_plainly:  # no arguments at all: typer has shown the help
                return 2
            raise UserError(f"usage: {told_plainly} See evalstop {_asked(args)}--help.") from told
        raise
    if status == INTERRUPTED:  # typer has caught Ctrl-C and says nothing
        raise KeyboardInterrupt
    return status


def _asked(args: list[str]) -> str:
    """Give the command that was asked for, to name its help."""
    names = {c.__name__.replace("_", "-").rstrip("-") for c in COMMANDS}
    return next((f"{a} " for a in args if a in names), "")
