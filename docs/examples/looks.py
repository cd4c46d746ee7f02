"""What a budget of 5 % is worth to somebody who looks again and again: by simulation, seed 1.

``python docs/examples/looks.py``: flat curves, the default rule. Without a horizon every look has
the threshold of as many evals as there are.
"""

import numpy as np

from evalstop.detectors import DETECTORS, Runs, scan
from evalstop.detectors.calibration import exact

N_RUNS, LENGTHS, BUDGET = 20_000, (8, 16, 24, 40), 0.05
rule = DETECTORS.build("mann-kendall")

scores = np.random.default_rng(1).standard_normal((N_RUNS, max(LENGTHS)))
highest = np.maximum.accumulate(scan(rule, Runs(scores)), axis=1)
thresholds = np.array([exact(rule, BUDGET, n).threshold for n in range(1, max(LENGTHS) + 1)])

print(f"Converged runs that are stopped, in %; promised: {100 * BUDGET:.0f}")
print("evals  one look, or --horizon  a look after every eval without it")
for n in LENGTHS:
    once = highest[:, n - 1] >= thresholds[n - 1]
    again = (highest[:, :n] >= thresholds[:n]).any(axis=1)
    print(f"{n:5}  {100 * once.mean():22.1f}  {100 * again.mean():34.1f}")
