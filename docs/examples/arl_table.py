"""Run lengths of control charts, exactly: ``python docs/examples/arl_table.py``."""

import math

from evalstop.detectors.charts import CusumChart, EwmaChart, ShiryaevRobertsChart
from evalstop.detectors.run_length import (
    arl,
    conditional_expected_delay,
    steady_state_arl,
    survival,
    threshold_for_false_alarm,
)

TEXTBOOK = (
    ("CUSUM, k=0.5, h=4, two-sided", CusumChart(0.5, "two"), 4.0),
    ("CUSUM, k=0.5, h=5, two-sided", CusumChart(0.5, "two"), 5.0),
    ("EWMA, weight=0.1, L=2.814, two-sided", EwmaChart(0.1, "two"), 2.814),
    ("Shiryaev-Roberts, theta=1, A=56.04", ShiryaevRobertsChart(1.0), math.log1p(56.04)),
)
FOR_FALLS = (
    ("CUSUM, k=0.25", CusumChart(0.25)),
    ("CUSUM, k=0.5", CusumChart(0.5)),
    ("CUSUM, k=1", CusumChart(1.0)),
    ("EWMA, weight=0.2", EwmaChart(0.2)),
    ("EWMA, weight=0.5", EwmaChart(0.5)),
    ("EWMA, weight=0.2, exact limits", EwmaChart(0.2, limits="exact")),
    ("Shewhart (EWMA, weight=1)", EwmaChart(1.0)),
    ("Shiryaev-Roberts, theta=1", ShiryaevRobertsChart(1.0)),
)
HORIZON, BUDGET = 20, 0.05

print("Evals to the first alarm, on average, after a shift of so many sigma from the first eval on")
print(f"{'chart':38}{'threshold':>9}{'0':>8}{'0.5':>7}{'1':>7}{'2':>7}")
for name, chart, threshold in TEXTBOOK:
    runs = [arl(chart, threshold, shift) for shift in (0, 0.5, 1, 2)]
    print(f"{name:38}{threshold:9.3f}{runs[0]:8.1f}{runs[1]:7.2f}{runs[2]:7.2f}{runs[3]:7.2f}")

print(f"\nThresholds for {BUDGET:.0%} false alarms within {HORIZON} evals, and what they cost")
print("(late = a fall of 1 sigma after 10 evals, or after very many)")
print(f"{'chart':38}{'threshold':>9}{'0':>8}{'0.5':>7}{'1':>7}{'2':>7}{'late':>7}{'later':>7}")
for name, chart in FOR_FALLS:
    threshold = threshold_for_false_alarm(chart, BUDGET, HORIZON)
    assert math.isclose(survival(chart, threshold, HORIZON), 1 - BUDGET)
    runs = [arl(chart, threshold, shift) for shift in (0, 0.5, 1, 2)]
    late = conditional_expected_delay(chart, threshold, 10, 1.0)
    later = steady_state_arl(chart, threshold, 1.0)
    print(
        f"{name:38}{threshold:9.3f}{runs[0]:8.1f}{runs[1]:7.2f}{runs[2]:7.2f}{runs[3]:7.2f}"
        f"{late:7.2f}{later:7.2f}"
    )
