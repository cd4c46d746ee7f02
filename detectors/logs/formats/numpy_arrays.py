"""NumPy files: an array of evals (``.npy``), or named arrays (``.npz``) as of Stable-Baselines3.

In an archive one array holds the steps; an array of shape (steps, episodes) holds the repeats of
each eval. Arrays of objects are pickles and are refused by their header, before any data is read.
"""

import zipfile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from evalstop.detectors.logs.assemble import assemble
from evalstop.detectors.logs.files import MAX_DOCUMENT, LogFile
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.problems import NotALogError
from evalstop.detectors.logs.rules.names import clean, use
from evalstop.detectors.logs.series import Found
from evalstop.errors import UserError

MAGIC, ZIP = b"\x93NUMPY", b"PK\x03\x04"
MAX_MEMBERS = 1000
SCORES, LENGTHS = ("results", "successes"), "ep_lengths"  # of Stable-Baselines3


def fits(file: LogFile) -> bool:
    """Tell by the first bytes; archives of anything else are refused when read."""
    return file.head.startswith((MAGIC, ZIP))


def read(file: LogFile) -> Found:
    """Read an array or an archive of them."""
    log = Log(str(file.path), file.run, file.ask, ordered=False)
    try:
        if file.head.startswith(ZIP):
            _read_archive(file, log)
        else:
            with file.path.open("rb") as stream:
                _add_array(_load(stream, file.path.stem, file), file, log)
    except (UserError, MemoryError, OSError):
        raise
    except Exception as told:  # numpy and zipfile raise what a damaged file leads them to
        if file.path.suffix not in (".npy", ".npz"):
            raise NotALogError(f"{file.path}: this is a binary file (zip), not a log") from None
        raise UserError(
            f"{file.path}: the array cannot be read ({told}); truncated, or still being written? "
            "Retry"
        ) from None
    return assemble(log)


def _add_array(array: NDArray[np.generic], file: LogFile, log: Log) -> None:
    if array.dtype.names:  # a table with named columns
        for row in array.reshape(-1).tolist():
            log.add(dict(zip(array.dtype.names, row, strict=True)))
        return
    if array.ndim != 1:
        raise UserError(
            f"{file.path}: an array of shape {array.shape} does not tell its axes; save one array "
            "of evals, or an npz with timesteps and results"
        )
    for value in array.astype(float).tolist():
        log.add({clean(file.run): value})


def _read_archive(file: LogFile, log: Log) -> None:
    with zipfile.ZipFile(file.path) as archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        if any(name.endswith((".pkl", ".pickle")) for name in names):
            raise NotALogError(
                f"{file.path}: there is a pickle in it, which is refused since loading one can run "
                "code; export CSV or JSON lines"
            )
        if not any(name.endswith(".npy") for name in names):
            raise NotALogError(f"{file.path}: this is a zip archive (compressed), unpack it first")
        if len(members) > MAX_MEMBERS:
            raise UserError(f"{file.path}: too large: {len(members)} arrays in one archive")
        arrays: dict[str, NDArray[np.generic]] = {}
        for member in members:
            if member.filename.endswith(".npy"):
                name = clean(member.filename.removesuffix(".npy"))
                with archive.open(member) as stream:
                    arrays[name] = _load(stream, name, file)
    _add_columns(arrays, file, log)


def _load(stream: IO[bytes], name: str, file: LogFile) -> NDArray[np.generic]:
    """Read one array whose header promises numbers of a bounded size."""
    version = np.lib.format.read_magic(stream)
    header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, fortran, dtype = header(stream)
    if dtype.hasobject:
        raise NotALogError(
            f"{file.path}: the array {name!r} holds a pickle, which is refused since loading one "
            "can run code; save it as numbers"
        )
    size = dtype.itemsize * int(np.prod(shape, dtype=object))
    if size > MAX_DOCUMENT:
        raise UserError(
            f"{file.path}: the array {name!r} is too large ({size >> 20} MB, the limit is "
            f"{MAX_DOCUMENT >> 20} MB)"
        )
    data = stream.read(size)
    if len(data) < size:
        raise ValueError(f"the array {name!r} is cut")
    array: NDArray[np.generic] = np.frombuffer(data, dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def _add_columns(arrays: dict[str, NDArray[np.generic]], file: LogFile, log: Log) -> None:
    """Add a row for each step and repeat."""
    clock = min(
        (n for n, a in arrays.items() if use(n)[0] in ("step", "epoch") and a.ndim == 1),
        key=use,
        default=None,
    )
    if clock is None:
        listed = ", ".join(f"{n} {a.shape}" for n, a in list(arrays.items())[:8])
        raise NotALogError(f"{file.path}: no array of steps in it (found: {listed}), add timesteps")
    steps = arrays.pop(clock).tolist()
    log.known_repeats, log.all_eval = True, "results" in arrays
    if log.all_eval:
        arrays.pop(LENGTHS, None)
        log.told |= dict.fromkeys(SCORES, (True, "the evaluations of Stable-Baselines3"))
    for name, array in arrays.items():
        if array.dtype.kind in "iufb" and array.shape[:1] == (len(steps),) and array.ndim <= 2:
            for step, repeats in zip(steps, array.reshape(len(steps), -1).tolist(), strict=True):
                for i, value in enumerate(repeats):
                    told = {"episode_id": str(i)} if array.ndim == 2 else {}
                    log.add({clock: step, name: float(value), **told})


FORMAT = Format("NumPy", fits, read)
