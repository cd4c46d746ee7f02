"""Readers of people's real training logs: any known format in, tidy curves out."""

from evalstop.detectors.logs.channels import channels_at
from evalstop.detectors.logs.curve import Curve, Reading, Role
from evalstop.detectors.logs.export import tidy_csv
from evalstop.detectors.logs.read import read_logs

__all__ = ["Curve", "Reading", "Role", "channels_at", "read_logs", "tidy_csv"]
