"""Messages in and out: frames, the queue between the reading thread and the event loop, and what "idle" means.

One thread reads and decodes; the loop takes one message at a time, so that a request sees the text as it was when the
request was sent. When no message waits, the owner is told that there is time for work that can wait (analysis).
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from io import RawIOBase
from typing import Any, Final

log = logging.getLogger(__name__)

_HEAD: Final = re.compile(rb"\s*(?:[^\r\n]+\r?\n)+\r?\n")
_LENGTH: Final = re.compile(rb"^content-length:\s*(\d+)\s*$", re.IGNORECASE | re.MULTILINE)
_AT_ONCE: Final = 65_536  # bytes
CANCEL: Final = "$/cancelRequest"


def frames(stream: RawIOBase) -> Iterator[bytes]:
    """Yield the bodies of messages until the stream ends. Blocks.

    The stream has no buffer of its own: what Python's buffered reader holds while it waits is a small object that is
    made anew for each message, and keeps a megabyte of otherwise free memory.
    """
    pending = b""
    while True:
        while (head := _HEAD.match(pending)) is not None:
            length = _LENGTH.search(head.group())
            start = head.end()
            end = start + (int(length.group(1)) if length else 0)
            if len(pending) < end:
                pieces = [pending]
                missing = end - len(pending)
                while missing > 0 and (piece := stream.read(missing)):
                    pieces.append(piece)
                    missing -= len(piece)
                if missing > 0:
                    return
                pending = b"".join(pieces)
            if length:
                yield pending[start:end]
            pending = pending[end:]
        more = stream.read(_AT_ONCE)
        if not more:
            return
        pending += more


class Inbox:
    """Messages that wait for the loop. ``receive`` gets each of them; ``idle`` says whether it has more to do."""

    def __init__(self, receive: Callable[[dict[str, Any]], None], idle: Callable[[], bool]) -> None:
        self._receive = receive
        self._idle = idle
        self._waiting: deque[dict[str, Any]] = deque()
        self._loop = asyncio.get_running_loop()
        self._is_scheduled = False
        self.cancelled: set[int | str] = set()  # ids of requests whose cancellation is behind them in the queue
        self.ended: asyncio.Future[int] = self._loop.create_future()

    def read_in_thread(self, stream: RawIOBase) -> None:
        """Start the thread that fills the inbox until the stream ends."""
        threading.Thread(target=self._read, args=(stream,), name="stepsmith-input", daemon=True).start()

    def put(self, body: bytes) -> None:
        """Take one message; may be called from any thread."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            log.warning("a message that is no JSON: %s", error)
            return
        if not isinstance(message, dict):
            log.warning("a message that is no object")
            return
        if message.get("method") == CANCEL and isinstance(message.get("params"), dict):
            self.cancelled.add(message["params"].get("id"))
        self._waiting.append(message)
        self._loop.call_soon_threadsafe(self.wake)

    def end(self, code: int) -> None:
        """Let :attr:`ended` have the exit code; the first call counts."""
        if not self.ended.done():
            self.ended.set_result(code)

    def wake(self) -> None:
        """See to it that waiting messages, and then idle work, are taken up."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._step)

    def _read(self, stream: RawIOBase) -> None:
        try:
            for body in frames(stream):
                self.put(body)
        except (OSError, ValueError) as error:
            log.debug("input ended: %s", error)
        try:
            self._loop.call_soon_threadsafe(self._no_more)
        except RuntimeError:
            log.debug("the loop had ended before its input")

    def _no_more(self) -> None:
        """The client closed its side: a shutdown without manners, after what it has sent is answered."""
        if self._waiting:
            self._loop.call_soon(self._no_more)
        else:
            self.end(1)

    def _step(self) -> None:
        self._is_scheduled = False
        if self._waiting:
            message = self._waiting.popleft()
            try:
                self._receive(message)
            finally:  # tasks of this message start before the next message is looked at
                self.wake()
        elif not self.ended.done() and self._idle():
            self.wake()
