"""Control charts with a given target and a known sigma, by their run lengths."""

from dataclasses import replace

from evalstop.detectors.calibration.certain import certain, refuse_boundary
from evalstop.detectors.calibration.record import Calibration, check_budget
from evalstop.detectors.charts import Chart
from evalstop.detectors.rules import Detector
from evalstop.detectors.run_length import run_length_pmf, threshold_for_false_alarm

LEAST = 1e-9  # how far above its least threshold a chart is looked at


class RunLengths:
    """A control chart with a given target and a known sigma."""

    method = "exact"

    def __init__(self, detector: Detector, chart: Chart) -> None:
        self.detector = detector
        self.chart = chart

    def assumptions(self, horizon: int) -> str:
        """Say what has to hold; for a chart of falls only the target bounds the mean."""
        mean, sigma = (getattr(self.detector, field) for field in ("mean", "sigma"))
        where = "at" if getattr(self.chart, "sided", "one") == "two" else "never below"
        return f"a mean {where} {mean:g}, independent Gaussian noise of sd {sigma:g}"

    def calibrate(self, fpr: float, horizon: int, *, boundary: bool = False) -> Calibration:
        """Solve for the threshold."""
        check_budget(fpr, horizon)
        refuse_boundary(self.detector, boundary)
        threshold = self.chart.least_threshold + LEAST
        if self.p_value(threshold, horizon) > fpr:  # else any will do
            threshold = threshold_for_false_alarm(self.chart, fpr, horizon)
        realised = self.p_value(threshold, horizon)
        told = self.assumptions(horizon)
        return replace(certain(self.detector, threshold, realised, horizon, told), nominal=fpr)

    def p_value(self, observed: float, n_evals: int) -> float:
        """Give P(run length <= n_evals) with the observed statistic as threshold."""
        if observed <= self.chart.least_threshold or n_evals == 0:
            return 1.0
        return float(min(run_length_pmf(self.chart, observed, n_evals).sum(), 1.0))
