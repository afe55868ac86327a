"""What holds for all tests."""

from __future__ import annotations

import os

# Read when torch is imported. A test computes on small tensors, and two processes run tests: further threads only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")
