"""Thresholds that keep a promise: P(false stop within so many evals) <= fpr."""

from evalstop.detectors.calibration.record import Calibration, exact, load, natural_promise, save

__all__ = ["Calibration", "exact", "load", "natural_promise", "save"]
