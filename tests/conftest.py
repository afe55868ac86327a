"""What holds for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Read when torch is imported. A test computes on small tensors, and two processes run tests: further threads only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No deadline and no health check counts seconds, and the same examples come in every run, as hypothesis has it where CI
# is set. By its other profile a busy machine fails tests that a quiet one passes.
settings.load_profile("ci")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Search for garbage seldom, and never in what is imported and collected.

    That is there until the end, with torch and a description of each test: some million objects. Searches by Python's
    own measure took a seventh of the processor time of all tests. Processes that tests start keep to that measure.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 10)
        gc.enable()


@pytest.fixture
def nothing_kept_out() -> Iterator[None]:
    """Let a test about what is kept out of searches begin where nothing is."""
    gc.unfreeze()
    yield
    gc.freeze()
