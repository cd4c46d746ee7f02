"""Studies in MLflow: one experiment for each, one top-level run for each detector, cells below.

`track` sends a *results folder*, now or later. That is a folder with

``study.json``
    ``study`` (``name``, and ``question`` if there is one), ``shown`` (the scores that matter, the
    first one most), ``seed``; ``schema``, ``versions`` and ``commit`` if known.
``results.parquet``
    A row for each cell, with the columns ``point``, then its labels (``detector`` and ``threshold``
    among them), ``repeat``, its scores, ``cell`` (its id). Scores ``tpr_at_fpr_015`` make up a ROC.
``findings.txt``, pages, figures, tables
    If there are any. The findings stand above the runs; all files are artifacts of every detector.

`evalstop.studies.results.write_results` writes the first two.
"""

from evalstop.studies.tracking.folder import results_folders
from evalstop.studies.tracking.send import Sent, track

__all__ = ["Sent", "results_folders", "track"]
