"""Readers of people's real training logs: any known format in, tidy curves out."""

from evalstop.detectors.logs.curve import Curve, Reading

__all__ = ["Curve", "Reading"]
