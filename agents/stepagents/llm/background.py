"""An event loop in a thread of its own, for code that is not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")
_JOIN_SECONDS: Final = 10.0


class LoopThread:
    """Runs coroutines; what lives in them (connections, locks) stays in one loop. Thread-safe."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start ``work``; cancelling what is returned cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close_after(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run ``last`` in the loop, for some seconds at most, and close, whatever comes of it."""
        try:
            with suppress(TimeoutError):
                self.start(last()).result(_JOIN_SECONDS)
        finally:
            self.close()

    def close(self) -> None:
        """Cancel what runs, let it clean up, and end the thread. May be called twice."""
        if self._loop.is_closed():
            return
        with suppress(RuntimeError):  # it ended in between
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_SECONDS)  # what does not end by then goes with the process: the thread is a daemon

    def _run(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_cancel_all())
        finally:
            self._loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
