"""Start and end of the server's process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from io import RawIOBase
from typing import IO, Final

from stepserver import memory
from stepserver.app import Server
from stepserver.transport import BrokenFrame, Framing, Inbox

log = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
_AT_ONCE: Final = 65_536  # bytes
_PARENT_SECONDS: Final = 5.0  # between two looks at whether the client still lives


def serve(port: int | None = None) -> int:
    """Serve one client, over standard input and output or on a local port; return the exit code."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    # What goes wrong in there is a mistake of the client, which gets an answer; our own mistakes are logged by us.
    logging.getLogger("pygls.protocol.json_rpc").setLevel(logging.CRITICAL)
    server = Server()
    memory.limit()
    try:
        return asyncio.run(_stdio(server) if port is None else _tcp(server, port))
    except (KeyboardInterrupt, BrokenPipeError):
        return 1
    finally:
        server.parts.close()


async def _stdio(server: Server) -> int:
    reader, writer = _take_pipes()
    server.protocol.set_writer(_Writer(writer))
    inbox = Inbox(server.protocol.receive, server.idle.step)
    server.start(inbox)
    inbox.read_in_thread(reader)
    return await _until_end(server, inbox)


async def _tcp(server: Server, port: int) -> int:
    inbox = Inbox(server.protocol.receive, server.idle.step)
    server.start(inbox)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if server.protocol.writer is not None:  # the one client is there already
            writer.close()
            return
        server.protocol.set_writer(writer)
        framing = Framing()
        try:
            while data := await reader.read(_AT_ONCE):
                for body in framing.feed(data):
                    inbox.put(body)
            inbox.no_more()
        except BrokenFrame as error:
            inbox.fail(error)
        except ConnectionError:
            inbox.end(1)

    async with await asyncio.start_server(connected, HOST, port) as listener:
        print(f"waiting on {HOST}:{listener.sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)
        return await _until_end(server, inbox)


async def _until_end(server: Server, inbox: Inbox) -> int:
    """Wait for ``exit``, for the end of the input, or for the death of the client."""
    loop = asyncio.get_running_loop()

    def look() -> None:
        # A thread: what the loop keeps for a wait with a limit is made anew each time, and then holds on to memory
        # that is free around it.
        while is_alive(server.client_process):
            time.sleep(_PARENT_SECONDS)
        log.warning("the client %s is gone", server.client_process)
        with contextlib.suppress(RuntimeError):  # the loop ended before
            loop.call_soon_threadsafe(inbox.end, 1)

    threading.Thread(target=look, name="stepsmith-client", daemon=True).start()
    return await inbox.ended


def is_alive(pid: int | None) -> bool:
    """Return whether a process exists; True where that cannot be told."""
    if pid is None or os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _Writer:
    """Standard output as pygls wants it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


def _take_pipes() -> tuple[RawIOBase, IO[bytes]]:
    """Move the protocol to fresh descriptors, so that no ``print``, of whomever, gets in between."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for descriptor in (reader, writer):
        os.set_inheritable(descriptor, False)
    return os.fdopen(reader, "rb", buffering=0), os.fdopen(writer, "wb")
