"""What the first bytes of a file say: the encoding of a text, or what else it is."""

import codecs
import pickletools

from evalstop.detectors.logs.problems import NotALogError

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


def encoding_of(head: bytes, *, whole: bool) -> str:
    """Give the encoding of a text that begins so; `NotALogError` says what else it is.

    Parameters
    ----------
    head : bytes
        The first bytes.
    whole : bool
        They are all there are.
    """
    _refuse_binary_formats(head, whole)
    for bom, name in BOMS:
        if head.startswith(bom):
            return name
    if b"\0" in head:
        return _wide_encoding(head)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        _refuse_control_characters(head, 0.01)
        return "cp1252"  # what a spreadsheet on Windows writes
    _refuse_control_characters(head, 0.3)
    return "utf-8"


def _refuse_binary_formats(head: bytes, whole: bool) -> None:
    for magic, what in PACKED:
        if head.startswith(magic):
            raise NotALogError(f"the file is {what}, unpack it first")
    if is_pickle(head, whole=whole):
        raise NotALogError(
            "this is a pickle, which is refused since loading one can run code; export it as CSV "
            "or JSON lines"
        )
    for magic, what in BINARIES:
        if head.startswith(magic):
            raise NotALogError(f"this is a binary file ({what}), not a text log")


def _wide_encoding(head: bytes) -> str:
    """Tell UTF-16 without its mark from binary data: text has a zero in every second byte."""
    pairs = len(head) // 2
    for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[offset::2].count(0), head[1 - offset :: 2].count(0)
        if zeros > 0.8 * pairs and others < 0.05 * pairs:
            return name
    raise NotALogError("this is a binary file, not a text log")


def _refuse_control_characters(head: bytes, share: float) -> None:
    """Refuse what has more than a share of control characters."""
    odd = sum(byte < 32 and byte not in b"\t\n\r\f\b\x1b" for byte in head)
    if odd > share * len(head):
        raise NotALogError("this is a binary file, not a text log")


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
