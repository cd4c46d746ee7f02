"""One file on disk: what its first bytes say, and its text in bounded pieces.

No file is ever unpickled, and none is read past the limits here: a line of 200 MB (logged
completions) costs a warning, not the memory.
"""

import codecs
import io
import pickletools
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evalstop.detectors.logs.log import Ask
from evalstop.detectors.logs.problems import NoCurveError, NotALogError

HEAD_BYTES = 1 << 16
MAX_LINE = 16 << 20  # characters of a line
MAX_DOCUMENT = 64 << 20  # bytes of a file that is one JSON document or one array

PACKED = (
    (b"\x1f\x8b", "gzip-compressed"),
    (b"BZh", "bzip2-compressed"),
    (b"\xfd7zXZ", "xz-compressed"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed"),
)
BINARIES = ((b"PAR1", "Parquet"), (b"\x89HDF", "HDF5"), (b"\x7fELF", "a program"))
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
PICKLE_STARTS = (b"(dp", b"(lp", b"cposix\n", b"cnt\n", b"cos\n", b"c__builtin__\n", b"cbuiltins\n")


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
        """The encoding of a text file; `UserError` says what else it is."""
        head = self.head
        self._refuse_packed()
        for bom, name in BOMS:
            if head.startswith(bom):
                return name
        if b"\0" in head:
            return self._wide_encoding()
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(head)
        except UnicodeDecodeError:
            self._refuse_binary(0.01)
            self.notes.append(f"{self.path}: not UTF-8, read as Windows-1252")
            return "cp1252"
        self._refuse_binary(0.3)
        return "utf-8"

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

    def _refuse_packed(self) -> None:
        for magic, what in PACKED:
            if self.head.startswith(magic):
                raise NotALogError(f"{self.path}: the file is {what}, unpack it first")
        if is_pickle(self.head, whole=self.size <= len(self.head)):
            raise NotALogError(
                f"{self.path}: this is a pickle, which is refused since loading one can run code; "
                "export it as CSV or JSON lines"
            )
        for magic, what in BINARIES:
            if self.head.startswith(magic):
                raise NotALogError(f"{self.path}: this is a binary file ({what}), not a text log")

    def _wide_encoding(self) -> str:
        """Tell UTF-16 without its mark from binary data: text has a zero in every second byte."""
        pairs = len(self.head) // 2
        for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
            zeros = self.head[offset::2].count(0)
            if zeros > 0.8 * pairs and self.head[1 - offset :: 2].count(0) < 0.05 * pairs:
                return name
        raise NotALogError(f"{self.path}: this is a binary file, not a text log")

    def _refuse_binary(self, share: float) -> None:
        """Refuse a file of which more than a share is control characters."""
        odd = sum(byte < 32 and byte not in b"\t\n\r\f\b\x1b" for byte in self.head)
        if odd > share * len(self.head):
            raise NotALogError(f"{self.path}: this is a binary file, not a text log")


def is_pickle(head: bytes, *, whole: bool) -> bool:
    """Tell a pickle by its first bytes, without loading it."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"):
        return True
    if head.startswith(PICKLE_STARTS):
        return True
    if not whole or not head.rstrip().endswith(b"."):
        return False
    try:  # protocols 0 and 1 are text; their opcodes must parse to the final dot
        opcodes = [opcode.name for opcode, _, _ in pickletools.genops(head)]
    except Exception:
        return False
    return len(opcodes) > 1
