"""What earlier successes taught, for commands: demonstrations out of the store, and new successes into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from stepagents.cli.options import Learned
from stepagents.sampling import Order, Sampled
from stepcore.cli.terminal import complain
from stepcore.jobdata.writing import Experience
from stepcore.jobs.proposers import ProposerEntry
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepagents.experience.store import Store

_STRATA: Final = 3  # by how hard experience was earned; a model gets the first


class Learning:
    """The experience of this workspace. Without a store it teaches and records nothing."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store

    def demonstrations(self, proposer: ProposerEntry, but: Sequence[Order] = ()) -> list[Experience]:
        """Return what ``proposer`` is to learn from; experience with the tasks of ``but`` is left out.

        A search learns from everything. A model, whose prompt has a price, gets what was hardest to earn.
        """
        from stepagents.experience.database import StoreError
        from stepagents.experience.identity import task_key, without_impl
        from stepagents.experience.strata import strata

        if self._store is None:
            return []
        try:
            stored = self._store.all()
        except StoreError as error:
            complain(f"{error}; going on without experience")
            return []
        hidden = {task_key(without_impl(order.text, order.task)) for order in but}
        found = [item.experience for item in stored if item.task_key not in hidden]
        if not proposer.asks or not found:
            return found
        return strata(found, _STRATA)[0]

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
            complain(f"{one_line(order.path)}: not recorded as experience: {error}")


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
    with workspace_store(wanted, "experience") as store:
        yield Learning(store)


@contextmanager
def workspace_store(wanted: Learned, what: str) -> Iterator[Store | None]:
    """Open the store of this workspace; None, and a complaint that it goes on without ``what``, where that fails.

    None, too, where no experience is wanted.
    """
    if wanted is Learned.NONE:
        yield None
        return
    from stepagents.experience.database import StoreError
    from stepagents.experience.store import Store

    try:
        store = Store()
    except StoreError as error:
        complain(f"{error}; going on without {what}")
        yield None
        return
    with store:
        yield store
