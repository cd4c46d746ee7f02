"""Readers of people's real training logs: any known format in, tidy curves out.

A file is asked by each of `formats.FORMATS` in turn whether it fits; that format puts its records
into a `log.Log`, and `assemble.assemble` applies the rules of `rules` to them, which are the same
for all formats. A new format is one file in `formats` with `fits` and `read`, and a line in
`formats.FORMATS`; it decides nothing that a rule decides.
"""

from evalstop.detectors.logs.channels import channels_at
from evalstop.detectors.logs.curve import Curve, Reading, Role
from evalstop.detectors.logs.export import tidy_csv
from evalstop.detectors.logs.read import read_logs

__all__ = ["Curve", "Reading", "Role", "channels_at", "read_logs", "tidy_csv"]
