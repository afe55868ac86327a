"""Measurements of speed: ``python -m benchmarks``. Nothing here is a test; figures depend on the machine."""

import sys
from pathlib import Path

# The literal oracle lives with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
