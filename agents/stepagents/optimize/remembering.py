"""Optimization memory of a workspace: items out of the experience store, and what a search found into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepagents.experience.database import HoldsSecret, StoreError
from stepagents.experience.optimizations import OptimizationItem, add_items, stored_items
from stepagents.experience.store import Store


class OptimizationMemory:
    """The items of a workspace. Without a store it gives and keeps nothing; ``tell`` hears why one fails, once."""

    def __init__(self, store: Store | None = None, tell: Callable[[str], None] = lambda _text: None) -> None:
        self._store = store
        self._tell = tell

    @property
    def is_open(self) -> bool:
        """Whether there is a store."""
        return self._store is not None

    def items(self) -> Sequence[OptimizationItem]:
        """Return all items; a store that fails is told once and left alone."""
        try:
            return () if self._store is None else [each.item for each in stored_items(self._store)]
        except StoreError as error:
            self._tell(f"{error}; going on without memory")
            self._store = None
            return ()

    def keep(self, items: Sequence[OptimizationItem]) -> int:
        """Store items; returns how many."""
        if self._store is None or not items:
            return 0
        try:
            add_items(self._store, items)
        except HoldsSecret as error:
            self._tell(f"not remembered: {error}")
        except StoreError as error:
            self._tell(f"{error}; nothing more is remembered")
            self._store = None
        else:
            return len(items)
        return 0
