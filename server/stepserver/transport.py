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
from dataclasses import dataclass
from io import RawIOBase
from typing import Any, Final, TypeGuard

log = logging.getLogger(__name__)

_BLANK: Final = re.compile(rb"[^\S\n]*\n\r?\n")
_LENGTH: Final = re.compile(rb"[0-9]{1,15}")
_AT_ONCE: Final = 65_536  # bytes
MOST_HEAD: Final = 16 << 10  # bytes of the lines before a body
MOST_BODY: Final = 64 << 20  # bytes; a document of more than 5 MB is refused, and JSON can make six bytes of one
CANCEL: Final = "$/cancelRequest"


class BrokenFrame(Exception):
    """The bytes say no more where a message starts and ends: nothing after them can be read."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What stands for a message in a whole frame that holds no JSON."""

    reason: str


class Framing:
    """Cuts bytes, in whatever pieces they arrive, into the bodies of messages. Holds one message at most."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._wanted = 1  # bytes that there have to be before it is worth looking at them

    @property
    def is_within(self) -> bool:
        """Whether a part of a message has arrived."""
        return self._size > 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take bytes and yield the bodies that are whole now.

        Raises:
            BrokenFrame: a head says no length, or one that cannot be met.
        """
        self._pieces.append(data)
        self._size += len(data)
        while self._size >= self._wanted:
            pending = b"".join(self._pieces)
            found = _body(pending)
            if found is None or found[1] > len(pending):
                self._keep(pending, found[1] if found else len(pending) + 1)
                return
            yield pending[slice(*found)]
            self._keep(pending[found[1] :], 1)

    def _keep(self, rest: bytes, wanted: int) -> None:
        self._pieces.clear()  # a new list, be it empty, would keep a megabyte of otherwise free memory
        if rest:
            self._pieces.append(rest)
        self._size = len(rest)
        self._wanted = wanted


def _body(pending: bytes) -> tuple[int, int] | None:
    """Return where the body of the first message starts and ends; None while its head is not whole."""
    first = len(pending) - len(pending.lstrip())  # some clients put line breaks between messages
    blank = _BLANK.search(pending, first, MOST_HEAD)
    if blank is None:
        if len(pending) >= MOST_HEAD:
            raise BrokenFrame(f"the head of a message has more than {MOST_HEAD >> 10} KB")
        return None
    lengths: list[bytes] = []
    for line in pending[first : blank.start()].split(b"\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            raise BrokenFrame(f"a line of a head that is no field: {line[:60]!r}")
        if name.strip().lower() == b"content-length":
            lengths.append(value.strip())
    if len(lengths) != 1:
        raise BrokenFrame(f"a head with {len(lengths)} fields Content-Length, where one is needed")
    if _LENGTH.fullmatch(lengths[0]) is None:
        raise BrokenFrame(f"a Content-Length that is no length: {lengths[0][:60]!r}")
    length = int(lengths[0])
    if length > MOST_BODY:
        raise BrokenFrame(f"a message of {length:,} bytes; at most {MOST_BODY >> 20} MB are read")
    return blank.end(), blank.end() + length


def frames(stream: RawIOBase) -> Iterator[bytes]:
    """Yield the bodies of messages until the stream ends. Blocks.

    The stream has no buffer of its own: what Python's buffered reader holds while it waits is a small object that is
    made anew for each message, and keeps a megabyte of otherwise free memory.

    Raises:
        BrokenFrame: see :meth:`Framing.feed`.
    """
    framing = Framing()
    while more := stream.read(_AT_ONCE):
        yield from framing.feed(more)
    if framing.is_within:
        log.warning("the input ended within a message")


def decode(body: bytes) -> Any:
    """Return what the JSON of a body says.

    Raises:
        ValueError: it is none, or too deep.
    """
    try:
        return _DECODER.decode(str(body, "utf-8"))
    except RecursionError:
        raise ValueError("lists and objects within each other, too deep to be read") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)  # one for all messages: it takes longer than most


def is_id(number: object) -> TypeGuard[int | str]:
    """Return whether a value can be the id of a message, as the protocol has it."""
    return isinstance(number, int | str) and not isinstance(number, bool)


class Inbox:
    """Messages that wait for the loop. ``receive`` gets each of them; ``idle`` says whether it has more to do."""

    def __init__(self, receive: Callable[[Any], None], idle: Callable[[], bool]) -> None:
        self._receive = receive
        self._idle = idle
        self._waiting: deque[Any] = deque()
        self._loop = asyncio.get_running_loop()
        self._is_scheduled = False
        self.cancelled: set[int | str] = set()  # ids of requests whose cancellation is behind them in the queue
        self.ended: asyncio.Future[int] = self._loop.create_future()

    def read_in_thread(self, stream: RawIOBase) -> None:
        """Start the thread that fills the inbox until the stream ends."""
        threading.Thread(target=self._read, args=(stream,), name="stepsmith-input", daemon=True).start()

    def put(self, body: bytes) -> None:
        """Take one message; may be called from any thread."""
        message: Any
        try:
            message = decode(body)
        except ValueError as error:
            message = Unreadable(str(error))
        if isinstance(message, dict) and message.get("method") == CANCEL and isinstance(message.get("params"), dict):
            number = message["params"].get("id")
            if is_id(number):
                self.cancelled.add(number)
        self._waiting.append(message)
        self._loop.call_soon_threadsafe(self.wake)

    def fail(self, error: BrokenFrame) -> None:
        """Let the process end: the client notices, and starts another one. May be called from any thread.

        To go on would be to stay alive and deaf, since nobody knows where the next message begins.
        """
        log.error("unreadable input, the server ends: %s", error)
        self._loop.call_soon_threadsafe(self.no_more)

    def end(self, code: int) -> None:
        """Let :attr:`ended` have the exit code; the first call counts."""
        if not self.ended.done():
            self.ended.set_result(code)

    def wake(self) -> None:
        """See to it that waiting messages, and then idle work, are taken up."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._step)

    def no_more(self) -> None:
        """End with code 1, after what was sent is answered: the client closed its side without a shutdown."""
        if self._waiting:
            self._loop.call_soon(self.no_more)
        else:
            self.end(1)

    def _read(self, stream: RawIOBase) -> None:
        try:
            try:
                for body in frames(stream):
                    self.put(body)
            except BrokenFrame as error:
                self.fail(error)
                return
            except (OSError, ValueError) as error:
                log.debug("input ended: %s", error)
            self._loop.call_soon_threadsafe(self.no_more)
        except RuntimeError:
            log.debug("the loop had ended before its input")
        except BaseException:
            log.exception("the input cannot be read any further")
            self._loop.call_soon_threadsafe(self.end, 1)

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
