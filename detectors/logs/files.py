"""One file on disk: what its first bytes say, and its text in bounded pieces.

No file is ever unpickled, and none is read past the limits here: a line of 200 MB (logged
completions) costs a warning, not the memory.
"""

import io
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evalstop.detectors.logs.log import Ask
from evalstop.detectors.logs.problems import NoCurveError, NotALogError
from evalstop.detectors.logs.sniff import encoding_of

HEAD_BYTES = 1 << 16
MAX_LINE = 16 << 20  # characters of a line
MAX_DOCUMENT = 64 << 20  # bytes of a file that is one JSON document or one array


@dataclass
class LogFile:
    """A regular file that may be a log.

    Parameters
    ----------
    path : Path
        Where it is.
    run : str
        What its run is called unless its content says better.
    ask : Ask
        What the caller asked for.
    place : tuple of str
        Names of the folders between the folder that was asked for and the file.
    """

    path: Path
    run: str
    ask: Ask = field(default_factory=Ask)
    place: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @cached_property
    def size(self) -> int:
        """Size in bytes; `UserError` for what is no regular file."""
        status = self.path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise NotALogError(f"{self.path}: this is no regular file")
        return status.st_size

    @cached_property
    def head(self) -> bytes:
        """The first 64 KB."""
        if self.size == 0:
            raise NotALogError(f"{self.path}: the file is empty (0 bytes), has the run started?")
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    @cached_property
    def encoding(self) -> str:
        """The encoding of a text file; `NotALogError` says what else it is."""
        try:
            encoding = encoding_of(self.head, whole=self.size <= len(self.head))
        except NotALogError as error:
            raise NotALogError(f"{self.path}: {error}") from None
        if encoding == "cp1252":
            self.notes.append(f"{self.path}: not UTF-8, read as Windows-1252")
        return encoding

    def lines(self) -> Iterator[tuple[int, str]]:
        """Give number and text of each line, its end included; lines over the limit are skipped.

        With `ask.growing` a last line without its newline is not given: it may be torn.
        """
        with self.path.open(encoding=self.encoding, errors="replace", newline="") as file:
            number = 0
            while line := file.readline(MAX_LINE):
                number += 1
                if len(line) == MAX_LINE and not line.endswith(("\n", "\r")):
                    self._skip_rest(file, number)
                elif line.endswith(("\n", "\r")) or not self.ask.growing:
                    yield number, line

    def text(self) -> str:
        """Give the whole text of a file that is one document."""
        if self.size > MAX_DOCUMENT:
            raise NoCurveError(
                f"{self.path}: too large for one document ({self.size >> 20} MB, the limit is "
                f"{MAX_DOCUMENT >> 20} MB), log it as lines of JSON"
            )
        return self.path.read_text(encoding=self.encoding, errors="replace")

    def _skip_rest(self, file: io.TextIOBase, number: int) -> None:
        length = MAX_LINE
        while rest := file.readline(MAX_LINE):
            length += len(rest)
            if rest.endswith(("\n", "\r")):
                break
        told = (
            f"{self.path}: line {number} is longer than {MAX_LINE >> 20} MB "
            f"({length >> 20} MB): skipped"
        )
        if told not in self.warnings:
            self.warnings.append(told)
