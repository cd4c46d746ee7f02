"""Tuning: which settings of a rule are best, found on some runs and shown on others.

`space` is what may be set, `goal` what is wanted, `places` where it is measured, `trials` the
search with Optuna, `tune` all of it together; `report` shows it.
"""
