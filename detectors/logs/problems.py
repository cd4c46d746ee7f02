"""What can be wrong with a file, told apart where a folder of many files has to."""

from evalstop.errors import UserError


class NotALogError(UserError):
    """The file is no training log of a known format: passed over inside a folder."""


class NoCurveError(UserError):
    """The file may be a training log, but no curve comes of it: a note inside a folder."""
