"""One wrapper around every handler: a crash costs one answer, is written down, and pops nothing up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from lsprotocol import types

from stepserver.protocol import RequestRefused

log = logging.getLogger(__name__)

Handler: TypeAlias = Callable[..., Awaitable[Any]]


class Reporter:
    """Tells of crashes: the traceback goes to standard error, one line per kind to the client's log.

    ``log`` writes to that, ``out_of_memory`` gives memory back after what it names has failed.
    """

    def __init__(self, log: Callable[[types.LogMessageParams], None], out_of_memory: Callable[[str], None]) -> None:
        self._log = log
        self._out_of_memory = out_of_memory
        self._told: set[tuple[str, type]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    def crash(self, what: str, error: BaseException) -> None:
        """Report that ``what`` failed: by a mistake of ours, or because memory ran out, which is then given back."""
        if isinstance(error, MemoryError):
            self._out_of_memory(what)
            return
        log.error("%s failed", what, exc_info=error)
        if (what, type(error)) not in self._told:
            self._told.add((what, type(error)))
            text = f"Stepsmith: {what} failed ({type(error).__name__}: {error}); the rest goes on. Please report this."
            self.tell(types.MessageType.Error, text)

    def tell(self, level: types.MessageType, text: str) -> None:
        """Write a line to the client's log."""
        self._log(types.LogMessageParams(level, text))

    def run(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``function``; None where it crashes."""
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001 - this is where mistakes of ours end
            self.crash(what, error)
            return None

    def start(self, what: str, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """Run ``work`` in the background."""

        async def guarded() -> Any:
            try:
                return await work
            except Exception as error:  # noqa: BLE001 - as above
                self.crash(what, error)
                return None

        task = asyncio.get_running_loop().create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def guarded(
    reporter: Reporter, what: str, handler: Handler, otherwise: Callable[[], Any] = lambda: None
) -> Callable[..., Any]:
    """Return ``handler`` such that a crash is reported and gives ``otherwise()`` as the answer."""

    async def run(*params: Any) -> Any:
        try:
            return await handler(*params)
        except RequestRefused:
            raise
        except Exception as error:
            from stepcore.ide.model import IdeError  # here, because `initialize` must not wait for it

            if isinstance(error, IdeError):
                raise RequestRefused(str(error)) from error
            reporter.crash(what, error)
            return otherwise()

    run.__annotations__ = {}  # pygls resolves them, which names for type checkers only would not survive
    return run
