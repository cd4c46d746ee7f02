"""A file that is one JSON document: a trainer's state, records, results, steps as keys."""

from typing import Any

from evalstop.detectors.logs.assemble import assemble, refuse_lone_record
from evalstop.detectors.logs.files import LogFile
from evalstop.detectors.logs.formats import by_step, hugging_face, lm_eval
from evalstop.detectors.logs.formats.format import Format
from evalstop.detectors.logs.formats.json_text import parse_document, parse_line
from evalstop.detectors.logs.log import Log
from evalstop.detectors.logs.problems import NotALogError
from evalstop.detectors.logs.rules.names import use
from evalstop.detectors.logs.series import Found
from evalstop.errors import UserError

HISTORIES = ("log_history", "history", "logs", "log", "records", "rows", "evals", "evaluations")


def fits(file: LogFile) -> bool:
    """Tell by the first character."""
    start = file.head.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \r\n\t")[:1]
    return start in (b"{", b"[") and file.encoding != "" and _is_json(file)


def read(file: LogFile) -> Found:
    """Read the document by its shape."""
    document = parse_document(file)
    log = Log(str(file.path), file.run, file.ask)
    if hugging_face.fits(document):
        return hugging_face.read(document, log)
    if lm_eval.fits(document):
        return lm_eval.read(document, log, file)
    rows = _rows(document)
    if rows is not None:
        for row in rows:
            log.add(row)
        refuse_lone_record(log)
        return assemble(log)
    if by_step.fits(document):
        return by_step.read(document, log)
    if isinstance(document, list) and not document:
        raise UserError(f"{file.path}: the list is empty (0 rows), has the run started?")
    raise NotALogError(
        f"{file.path}: this JSON has neither records nor steps, so it is no known log"
    )


def _rows(document: Any) -> list[dict[str, Any]] | None:  # noqa: ANN401 - any JSON value
    """Give the records of a list, of the one list of a document, or of a lone record."""
    if isinstance(document, list):
        rows = [row for row in document if isinstance(row, dict)]
        return rows if rows and len(rows) * 2 > len(document) else None
    if not isinstance(document, dict):
        return None
    for key in HISTORIES:
        if isinstance(document.get(key), list) and document[key]:
            return _rows(document[key])
    if any(use(key)[0] == "step" and not isinstance(v, dict | list) for key, v in document.items()):
        return [document]
    return None


def _is_json(file: LogFile) -> bool:
    """Tell JSON from other text that starts with a brace: a Python dict, ``[INFO] ...``."""
    text = file.head[:4096].decode(file.encoding, errors="replace").strip().lstrip("\ufeff")
    inner = text[1:].lstrip()[:1]
    if text.startswith("{"):
        return inner in ('"', "}", "")
    return inner in ("{", "[", "]", '"', "") or (inner.isdigit() and parse_line(text) is None)


FORMAT = Format("JSON", fits, read)
