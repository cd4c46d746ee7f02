"""The formats, in the order in which a file is asked whether it fits: the more certain first."""

from evalstop.detectors.logs.formats import (
    console,
    csv_table,
    json_document,
    json_lines,
    key_value,
    markdown,
    mlflow_sqlite,
    numpy_arrays,
    tensorboard,
)

FORMATS = (
    tensorboard.FORMAT,
    mlflow_sqlite.FORMAT,
    numpy_arrays.FORMAT,
    json_lines.FORMAT,
    json_document.FORMAT,
    markdown.FORMAT,
    csv_table.FORMAT,
    console.FORMAT,
    key_value.FORMAT,
)
