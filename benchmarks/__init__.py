"""Measurements of speed: ``python -m benchmarks``. Nothing here is a test; figures depend on the machine."""
