"""What is measured, a module for each subject of ``python -m benchmarks``; ``generation2`` has parts in others."""
