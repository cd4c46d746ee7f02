"""The zoo: one rule, one file, all of them in one explicit tuple."""

from evalstop.detectors.catalogue import Catalogue

ZOO: tuple[type, ...] = ()

DETECTORS = Catalogue("detector", ZOO)
