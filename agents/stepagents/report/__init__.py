"""Benchmark runs: what is measured, how it is summed up, and the report as one HTML file."""
