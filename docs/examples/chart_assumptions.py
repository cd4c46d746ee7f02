"""What false-alarm budgets are worth when an assumption fails: by simulation, seed 7.

``python docs/examples/chart_assumptions.py``: flat curves of 20 evals, thresholds of the exact
theory for 5 % false alarms.
"""

import numpy as np

from evalstop.detectors import DETECTORS, Runs, first_alarm, scan
from evalstop.detectors.run_length import threshold_for_false_alarm

N_RUNS, N_EVALS, BUDGET = 100_000, 20, 0.05
RULES = ("cusum:k=0.5", "ewma:weight=0.5", "shiryaev-roberts:on=levels")
KNOWN = {"target": "given", "sigma": "1"}

rng = np.random.default_rng(7)
normal = rng.standard_normal((N_RUNS, N_EVALS))
heavy = rng.standard_t(4, (N_RUNS, N_EVALS)) / np.sqrt(2)
correlated = normal.copy()
for t in range(1, N_EVALS):
    correlated[:, t] = 0.3 * correlated[:, t - 1] + np.sqrt(1 - 0.3**2) * normal[:, t]
evals = np.arange(N_EVALS)

CASES = (
    ("all assumptions hold", normal, KNOWN),
    ("the curve rises by 0.1 sigma an eval", normal + 0.1 * evals, KNOWN),
    ("the target is 0.5 sigma too high", normal - 0.5, KNOWN),
    ("sigma is 20 % larger than was said", 1.2 * normal, KNOWN),
    ("autocorrelation 0.3", correlated, KNOWN),
    ("heavy tails (Student's t, 4 df)", heavy, KNOWN),
    ("sigma estimated", normal, {"target": "given"}),
    ("target = running mean", normal, {"target": "running-mean", "sigma": "1"}),
    ("target = mean of the best three", normal, {"target": "best-so-far", "sigma": "1"}),
)

print(f"Share of flat curves stopped within {N_EVALS} evals, in %; promised: {100 * BUDGET:.0f}")
print(f"{'':38}" + "".join(f"{rule.split(':')[0]:>18}" for rule in RULES))
for name, scores, how in CASES:
    row = f"{name:38}"
    for rule in RULES:
        chart = DETECTORS.build(rule, more=KNOWN).chart()
        threshold = threshold_for_false_alarm(chart, BUDGET, N_EVALS)
        alarms = first_alarm(scan(DETECTORS.build(rule, more=how), Runs(scores)), threshold)
        row += f"{100 * (alarms >= 0).mean():18.1f}"
    print(row)
