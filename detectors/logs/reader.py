"""One file, by the format that fits it."""

from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats import FORMATS
from evalstop.detectors.logs.problems import NotALogError
from evalstop.detectors.logs.series import Found
from evalstop.errors import UserError


def read_file(file: LogFile) -> Found:
    """Read a log; `UserError` says in one line why it cannot be."""
    try:
        if file.head.strip() == b"" and file.size <= len(file.head):
            raise NotALogError(
                f"{file.path}: there are only blank lines in it, has the run started?"
            )
        return _by_format(file)
    except RecursionError:
        raise UserError(f"{file.path}: its records are nested too deeply to be a log") from None
    except MemoryError:
        raise UserError(f"{file.path}: it is too large for the memory of this machine") from None


def _by_format(file: LogFile) -> Found:
    """Read by the first format that fits; one that finds no log in the file gives way to others."""
    told: NotALogError | None = None
    try:
        for known in FORMATS:
            if known.fits(file):
                try:
                    found = known.read(file)
                except NotALogError as error:
                    told = told or error
                    continue
                found.warnings = [*file.warnings, *found.warnings]
                found.notes = [*file.notes, *found.notes]
                return found
    except NotALogError as error:
        told = told or error
    formats = ", ".join(known.name for known in FORMATS)
    raise told or NotALogError(f"{file.path}: this is no known format of training logs ({formats})")
