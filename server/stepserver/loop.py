"""The event loop as the parts of the server use it; there is none before the server is started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from stepserver.transport import Inbox


class Loop:
    """Calls things later, soon, or from another thread; ``inbox`` holds the messages that wait."""

    inbox: Inbox

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, inbox: Inbox) -> None:
        """Serve the messages of ``inbox``; called in the event loop."""
        self.inbox = inbox
        self._loop = asyncio.get_running_loop()

    def wake(self) -> None:
        """Let work go on that is done when no message waits."""
        self.inbox.wake()

    def soon(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have something called in the next turn of the loop."""
        if self._loop is not None:
            self._loop.call_soon(function, *arguments)

    def from_thread(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have something called in the event loop; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def later(self, seconds: float, function: Callable[[], Any]) -> asyncio.TimerHandle | None:
        """Have something called later; in the event loop."""
        return None if self._loop is None else self._loop.call_later(seconds, function)
