"""One wrapper around every handler: a crash costs one answer, is written down, and pops nothing up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from lsprotocol import types

from stepserver.protocol import Refused

if TYPE_CHECKING:
    from stepserver.server import StepServer

log = logging.getLogger(__name__)

Handler: TypeAlias = "Callable[[StepServer, Any], Awaitable[Any]]"


class Reporter:
    """Tells of crashes: the traceback goes to standard error, one line per kind to the client's log."""

    def __init__(self, server: StepServer) -> None:
        self._server = server
        self._told: set[tuple[str, type]] = set()

    def crash(self, what: str, error: BaseException) -> None:
        """Report that ``what`` failed: by a mistake of ours, or because memory ran out, which is then given back."""
        if isinstance(error, MemoryError):
            self._server.out_of_memory(what)
            return
        log.error("%s failed", what, exc_info=error)
        if (what, type(error)) not in self._told:
            self._told.add((what, type(error)))
            text = f"Stepsmith: {what} failed ({type(error).__name__}: {error}); the rest goes on. Please report this."
            self.tell(types.MessageType.Error, text)

    def tell(self, level: types.MessageType, text: str) -> None:
        """Write a line to the client's log."""
        self._server.window_log_message(types.LogMessageParams(level, text))

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
        self._server.tasks.add(task)
        task.add_done_callback(self._server.tasks.discard)
        return task


def guarded(what: str, handler: Handler, otherwise: Callable[[], Any] = lambda: None) -> Callable[..., Any]:
    """Return ``handler`` such that a crash is reported and gives ``otherwise()`` as the answer."""

    async def run(ls: StepServer, *params: Any) -> Any:
        try:
            return await handler(ls, *params)
        except Refused:
            raise
        except Exception as error:
            from stepcore.ide.model import IdeError  # here, because `initialize` must not wait for it

            if isinstance(error, IdeError):
                raise Refused(str(error)) from error
            ls.reporter.crash(what, error)
            return otherwise()

    run.__annotations__ = {}  # pygls resolves them, which names for type checkers only would not survive
    return run
