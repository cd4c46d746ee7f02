"""Stoppers: what may stop a job of a simulated cluster; every detector, and the oracle."""

from evalstop.detectors.catalogue import Catalogue
from evalstop.detectors.rules import Detector
from evalstop.detectors.zoo import ZOO
from evalstop.simulator.stoppers.oracle import Oracle

STOPPERS: Catalogue[Detector | Oracle] = Catalogue("detector", (*ZOO, Oracle))

__all__ = ["STOPPERS", "Oracle"]
