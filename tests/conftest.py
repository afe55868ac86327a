"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Read when torch is imported. A test computes on small tensors, and two processes run tests: further threads only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No deadline and no health check counts seconds, and the same examples come in every run, as hypothesis has it where CI
# is set. By its other profile a busy machine fails tests that a quiet one passes.
settings.load_profile("ci")
