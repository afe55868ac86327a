"""Optimization memory for commands: items out of the store, and what a search found into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stepagents.cli.learning import workspace_store
from stepagents.cli.options import Learned
from stepagents.experience.database import HoldsSecret, StoreError
from stepagents.experience.optimizations import OptimizationItem, add_items, stored_items
from stepagents.experience.store import Store
from stepcore.cli.terminal import complain


class OptimizationMemory:
    """The items of this workspace. Without a store it gives and keeps nothing."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store

    @property
    def is_open(self) -> bool:
        """Whether there is a store."""
        return self._store is not None

    def items(self) -> Sequence[OptimizationItem]:
        """Return all items; a store that fails is complained about once and left alone."""
        try:
            return () if self._store is None else [each.item for each in stored_items(self._store)]
        except StoreError as error:
            complain(f"{error}; going on without memory")
            self._store = None
            return ()

    def keep(self, items: Sequence[OptimizationItem]) -> None:
        """Store items."""
        if self._store is None or not items:
            return
        try:
            add_items(self._store, items)
        except HoldsSecret as error:
            complain(f"not remembered: {error}")
        except StoreError as error:
            complain(f"{error}; nothing more is remembered")
            self._store = None


@contextmanager
def open_memory(wanted: Learned) -> Iterator[OptimizationMemory]:
    """Open the store of this workspace, unless no experience is wanted."""
    with workspace_store(wanted, "memory") as store:
        yield OptimizationMemory(store)
