"""Calibration by calculation, for the detectors that have a theory.

- k-decline and patience by counting permutations (`evalstop.detectors.counting`): no noise level is
  needed; their statistics are whole numbers, so the budget chooses the rule's own k.
- CUSUM, EWMA and Shiryaev-Roberts charts by run-length theory (`evalstop.detectors.run_length`),
  for a given target and a known sigma.
- Other rules that use the order of the scores only (Mann-Kendall) by permutation: all of them where
  there are few evals, else random ones.

>>> from evalstop.detectors.zoo.k_decline import KDecline
>>> exact(KDecline(), fpr=0.05, horizon=10).promise
'at most 4.3% false stops within 10 evals (exact: flat curve, independent continuous noise)'
"""

from evalstop.detectors.calibration.certain import NoExactTheoryError, certain
from evalstop.detectors.calibration.counted import Counted, counted
from evalstop.detectors.calibration.null import Null
from evalstop.detectors.calibration.permuted import Permuted
from evalstop.detectors.calibration.record import Calibration
from evalstop.detectors.calibration.run_lengths import RunLengths
from evalstop.detectors.rules import Detector, is_rank_based
from evalstop.detectors.settings import name_of
from evalstop.detectors.zoo.e_process import EProcess
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.patience import Patience
from evalstop.errors import UserError


def exact(detector: Detector, fpr: float, horizon: int, *, seed: int = 0) -> Calibration:
    """Calibrate by an exact calculation.

    Parameters
    ----------
    detector : Detector
        If it counts (k-decline, patience), its k is replaced by the one that the budget allows.
    fpr : float
        False-alarm budget per run, in (0, 1).
    horizon : int
        Evals per run, at least 1.
    seed : int
        Of random permutations, where there are too many for all.

    Raises
    ------
    NoExactTheoryError
        If no exact calculation is known for the detector as it is set.
    """
    return exact_null(detector, seed=seed).calibrate(fpr, horizon)


def exact_null(detector: Detector, *, seed: int = 0) -> Null:
    """Give what is known exactly of a detector, see `exact`."""
    if isinstance(detector, KDecline | Patience) and detector.discrete:
        return Counted(detector)
    if hasattr(detector, "chart"):
        try:
            return RunLengths(detector, detector.chart())
        except UserError as error:
            raise NoExactTheoryError(str(error)) from None
    if is_rank_based(detector):
        return Permuted(detector, seed)
    raise NoExactTheoryError(
        f"{name_of(detector)}: no exact calibration is known for it, calibrate it on flat noise "
        "(flat) or on healthy runs (conformal), or give a threshold"
    )


def natural_promise(detector: Detector, horizon: int) -> Calibration | None:
    """Say what the threshold of the rule's own definition promises, if anything is known."""
    if isinstance(detector, KDecline | Patience):
        return counted(detector, horizon)
    if isinstance(detector, EProcess) and detector.natural_threshold is not None:
        return certain(
            detector,
            detector.natural_threshold,
            detector.alpha,
            horizon,
            f"Ville's bound, at any number of evals; independent Gaussian noise of sd "
            f"{detector.sigma:g}, a mean that never falls",
        )
    return None
