"""A client of language servers for measurements: it stamps each message when it arrives, and no wait is endless.

Memory and processor time come from ``/proc`` (Linux) and count the server with all its descendants.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Final

from stepcore.records import Record

LIMIT: Final = 60.0  # seconds
_PROC: Final = Path("/proc")
_ABILITIES: Final[dict[str, Any]] = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
        "completion": {"completionItem": {"snippetSupport": True}},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "semanticTokens": {
            "requests": {"full": True, "range": True},
            "tokenTypes": ["variable", "function", "parameter", "class", "property", "type", "namespace", "keyword"],
            "tokenModifiers": ["declaration"],
            "formats": ["relative"],
        },
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
    "workspace": {
        "configuration": False,
        "codeLens": {"refreshSupport": True},
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},  # so that no server has to watch
    },
}
_PULL: Final[dict[str, Any]] = {
    "textDocument": {"diagnostic": {"dynamicRegistration": False}},
    "workspace": {"diagnostics": {"refreshSupport": True}},
}


class NoAnswer(Exception):
    """The server did not send what was waited for."""


class ServerMessage(Record):
    """One message of the server, and when it was there (``perf_counter``)."""

    body: dict[str, Any]
    time: float

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of a notification."""
        found: dict[str, Any] = self.body.get("params") or {}
        return found


class ServerSession:
    """One server process. ``started`` is the time just before the process was made."""

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> None:
        self._log = bytearray()
        self._queue: queue.SimpleQueue[ServerMessage | None] = queue.SimpleQueue()
        self._numbers = 0
        self.started = perf_counter()
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        for target in (self._read_messages, self._read_errors):
            threading.Thread(target=target, daemon=True).start()

    def __enter__(self) -> ServerSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and self.process.poll() is None:
                self.request("shutdown", None, 20.0)
                self.notify("exit", None)
                self.process.wait(10.0)
        except (NoAnswer, OSError, subprocess.TimeoutExpired):
            pass  # a server without manners; it is killed below
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(LIMIT)

    # -- messages -----------------------------------------------------------------------------------------------

    def notify(self, method: str, params: Any) -> float:
        """Send a notification; return when it was on its way."""
        self._send({"method": method, "params": params})
        return perf_counter()

    def request(self, method: str, params: Any, seconds: float = LIMIT) -> tuple[Any, float]:
        """Return the result of a request, and the seconds that it took."""
        start = perf_counter()
        message = self.answer(self.ask(method, params), seconds)
        if "error" in message.body:
            raise NoAnswer(f"{method}: {message.body['error']}")
        return message.body.get("result"), message.time - start

    def ask(self, method: str, params: Any) -> int:
        """Send a request and return its number, for :meth:`answer`."""
        self._numbers += 1
        self._send({"id": self._numbers, "method": method, "params": params})
        return self._numbers

    def answer(self, number: int, seconds: float = LIMIT) -> ServerMessage:
        """Wait for the answer to a request."""
        return self.wait(lambda body: body.get("id") == number and "method" not in body, seconds)

    def wait(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = LIMIT) -> ServerMessage:
        """Return the next message that is ``wanted``; others are dropped, and requests answered with null.

        Raises:
            NoAnswer: it did not come in time, or the server ended.
        """
        end = perf_counter() + seconds
        while True:
            try:
                message = self._queue.get(timeout=max(0.0, end - perf_counter()))
            except queue.Empty:
                raise NoAnswer(f"nothing within {seconds:g} s; {self._tail()}") from None
            if message is None:
                raise NoAnswer(f"the server ended; {self._tail()}")
            if "method" in message.body and "id" in message.body:
                self._send({"id": message.body["id"], "result": None})
            if wanted(message.body):
                return message

    def quiet(self, seconds: float) -> None:
        """Take messages until none came for ``seconds``."""
        try:
            while True:
                self.wait(lambda _body: True, seconds)
        except NoAnswer:
            if self.process.poll() is not None:
                raise

    # -- a session -----------------------------------------------------------------------------------------------

    def initialize(self, folder: Path, *, pull: bool = False, **options: Any) -> float:
        """Introduce a client; return when the answer to ``initialize`` was there."""
        abilities = {key: {**value, **(_PULL.get(key, {}) if pull else {})} for key, value in _ABILITIES.items()}
        params = {
            "processId": os.getpid(),
            "rootUri": folder.as_uri(),
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
            "capabilities": abilities,
            "initializationOptions": options,
        }
        message = self.answer(self.ask("initialize", params))
        self.notify("initialized", {})
        return message.time

    def open(self, uri: str, text: str, language: str) -> float:
        """Open a document at version 1; return when."""
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        return self.notify("textDocument/didOpen", {"textDocument": item})

    def close(self, uri: str) -> None:
        """Close a document."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str, version: int, seconds: float = LIMIT) -> ServerMessage:
        """Wait for the pushed findings of one version of a document."""

        def is_it(body: dict[str, Any]) -> bool:
            params = body.get("params") or {}
            is_push = body.get("method") == "textDocument/publishDiagnostics"
            return is_push and params["uri"] == uri and params.get("version") == version

        return self.wait(is_it, seconds)

    # -- the process -----------------------------------------------------------------------------------------

    def memory(self) -> float:
        """Return the resident memory of the server and its descendants in MB (10^6 bytes)."""
        return sum(_resident(pid) for pid in _family(self.process.pid)) / 1e6

    def processor_seconds(self) -> float:
        """Return the processor time that the server and its descendants have used so far."""
        return sum(_used(pid) for pid in _family(self.process.pid))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _read_messages(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            body = stream.read(length) if length else b""
            time = perf_counter()
            if not length or len(body) < length:
                self._queue.put(None)
                return
            self._queue.put(ServerMessage(json.loads(body), time))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._log += line
            del self._log[:-4000]

    def _tail(self) -> str:
        return f"its standard error ends with: {self._log.decode('utf-8', 'replace')[-1000:]!r}"


def _family(pid: int) -> list[int]:
    """Return ``pid`` and its descendants."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            # "PID (NAME) STATE PARENT ...", where the name may hold anything
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended
        children.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for known in found:  # grows on the way
        found += children.get(known, ())
    return found


def _tasks(pid: int) -> list[Path]:
    try:
        return list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return []


def _resident(pid: int) -> int:
    try:
        pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _used(pid: int) -> float:
    """Return the processor time of the living threads of one process in seconds; exact where the kernel counts it."""
    nanoseconds = 0
    for thread in _tasks(pid):
        try:
            nanoseconds += int((thread / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return nanoseconds / 1e9
