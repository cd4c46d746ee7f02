"""The one kind of error that a user can mend."""


class UserError(ValueError):
    """Bad input: the message says what is wrong, why, and what to do, in one line.

    The command line prints it as ``error: ...`` and ends with status 2.
    """
