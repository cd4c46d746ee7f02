"""Where the weights of ``learned`` come from: ``python -m evalstop.studies.learning``."""
