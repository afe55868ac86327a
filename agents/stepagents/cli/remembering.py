"""Optimization memory for commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stepagents.cli.learning import workspace_store
from stepagents.cli.options import Learned
from stepagents.optimize.remembering import OptimizationMemory
from stepcore.cli.terminal import complain


@contextmanager
def open_memory(wanted: Learned) -> Iterator[OptimizationMemory]:
    """Open the store of this workspace, unless no experience is wanted."""
    with workspace_store(wanted, "memory") as store:
        yield OptimizationMemory(store, complain)
