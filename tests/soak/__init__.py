"""Long campaigns of tests that draw their cases from a seed: ``python -m tests.soak``."""
