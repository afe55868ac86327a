"""What earlier successes taught, for commands: demonstrations out of the store, and new successes into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stepagents.cli.options import Learned
from stepagents.sampling import Experience, Order, Sampled
from stepcore.cli.terminal import complain

if TYPE_CHECKING:
    from stepagents.experience.store import Store


class Learning:
    """The experience of this workspace. Without a store it teaches and records nothing."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store

    @property
    def demonstrations(self) -> list[Experience]:
        """All experiences, in the order in which they were earned."""
        from stepagents.experience.database import StoreError

        if self._store is None:
            return []
        try:
            return [stored.experience for stored in self._store.all()]
        except StoreError as error:
            complain(f"{error}; going on without experience")
            return []

    def record(self, order: Order, sampled: Sampled) -> None:
        """Store the shortest program of a success; a store that fails is complained about once and left alone."""
        if self._store is None or not sampled.solved:
            return
        from stepagents.experience.database import StoreError
        from stepagents.experience.identity import UnusableProgram

        try:
            self._store.add(earned(order, sampled), order.path)
        except StoreError as error:
            complain(f"{error}; nothing more is recorded")
            self._store = None
        except UnusableProgram as error:
            complain(f"{order.path}: not recorded as experience: {error}")


def earned(order: Order, sampled: Sampled) -> Experience:
    """Return the experience that a success is."""
    return Experience(
        task=order.task,
        task_text=order.text,
        impl=sampled.solutions[0],
        proposer=sampled.proposer,
        success_rate=sampled.success_rate or 1.0,
        tokens=sampled.input_tokens + sampled.output_tokens,
        cost=sampled.cost,
        seconds=sampled.seconds,
    )


@contextmanager
def open_learning(wanted: Learned) -> Iterator[Learning]:
    """Open the store of this workspace, unless no experience is wanted."""
    if wanted is Learned.NONE:
        yield Learning()
        return
    from stepagents.experience.database import StoreError
    from stepagents.experience.store import Store

    try:
        store = Store()
    except StoreError as error:
        complain(f"{error}; going on without experience")
        yield Learning()
        return
    with store:
        yield Learning(store)
