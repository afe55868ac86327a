"""Bytes for the language server: it answers and goes on, or ends with an error; it is never alive and deaf.

A server that goes on after a mistake of its own has failed, too: what it logs of that is held against the input.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsprotocol.types import WINDOW_LOG_MESSAGE, MessageType

from stepserver.transport import Framing

from .corpus import Input
from .runner import Outcome, environment, processes_of

CPU = 30.0
MEMORY = 1_200 << 20
QUIET = 8.0  # seconds in which no thread of the server ran, was ready to run or answered: it is deaf
CEILING = 300.0
SERVER = (sys.executable, "-m", "stepserver")
_SETTLED = 0.5  # seconds without work after the answer: analysis of what was opened may end after it
_PROBE = 990_000
_PROBES = 3  # a frame may swallow the beginning of what follows


def run_frame(item: Input, command: Sequence[str] = SERVER) -> Outcome:
    """Send the bytes of one input and then a request, several times, to the server that ``command`` starts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "home").mkdir()
        run_id = uuid.uuid4().hex
        session = _Session(folder, run_id, command)
        try:
            problems = session.ask(item.path.read_bytes())
        finally:
            logged = session.end()
        problems += logged
        problems += [f"trapped: {line}" for line in session.trapped()]
        problems += [f"{command!r} outlived the server" for command in processes_of(run_id).values()]
        return Outcome(item, problems, session.cpu, session.memory, {"codes": []})


def logged(errors: str, sent: bytes) -> list[str]:
    """Return the server's own mistakes: tracebacks on its standard error, and errors that it told its client's log."""
    _, marker, trace = errors.rpartition("Traceback (most recent")
    found = [f"a traceback: {(marker + trace)[-600:]}"] if marker else []
    for body in Framing().feed(sent):
        message = json.loads(body)
        if message.get("method") == WINDOW_LOG_MESSAGE and message["params"]["type"] == MessageType.Error.value:
            found.append(f"an error in the client's log: {message['params']['message'][:600]}")
    return found


class _Session:
    """One server process."""

    def __init__(self, folder: Path, run_id: str, command: Sequence[str]) -> None:
        self.cpu = 0.0
        self.memory = 0
        self._log = folder / "trapped.log"
        self._errors = (folder / "stderr").open("w+b")
        self._process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=environment(folder, run_id),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (int(2 * CPU), int(2 * CPU)))
        self._received = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, data: bytes) -> list[str]:
        """Send ``data`` and probes; return what is wrong with the server's behaviour."""
        writer = threading.Thread(target=self._write, args=(data,), daemon=True)
        writer.start()
        end, quiet_since, spent = time.monotonic() + CEILING, time.monotonic(), -1.0
        while time.monotonic() < end:
            code = self._process.poll()
            self._measure()
            if code is not None:
                return self._bounds() + self._how_it_ended(code)
            is_answered = re.search(rb'"id":\s*99000[0-9]', self._received) is not None
            if self.cpu > CPU or (is_answered and time.monotonic() - quiet_since > _SETTLED):
                return self._bounds()
            if self.cpu != spent or self._is_busy():
                quiet_since, spent = time.monotonic(), self.cpu
            elif time.monotonic() - quiet_since > QUIET:
                return [*self._bounds(), "alive and deaf: the request after it was not answered"]
            time.sleep(0.02)
        return ["no answer within the ceiling"]

    def end(self) -> list[str]:
        """Kill the server; return what it logged of mistakes of its own, in whatever way it ended."""
        self._process.kill()
        self._process.wait()
        self._reader.join(10)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        self._errors.seek(0)
        words = self._errors.read().decode("utf-8", "replace")
        self._errors.close()
        return logged(words, bytes(self._received))

    def trapped(self) -> list[str]:
        """What the trap caught in the server or its workers."""
        return self._log.read_text(encoding="utf-8", errors="replace").splitlines() if self._log.exists() else []

    def _bounds(self) -> list[str]:
        found = [f"{self.cpu:.0f} s of processor time"] if self.cpu > CPU else []
        return found + ([f"{self.memory >> 20} MiB"] if self.memory > MEMORY else [])

    def _how_it_ended(self, code: int) -> list[str]:
        if code == 0:
            return ["the server ended as if all were well"]
        return [f"the server was killed by signal {-code}"] if code < 0 else []

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # the server may end while we write
            self._process.stdin.write(data)
            self._process.stdin.flush()
            for number in range(_PROBES):
                params: dict[str, Any] = {"processId": os.getpid(), "rootUri": None, "capabilities": {}}
                message = {"jsonrpc": "2.0", "id": _PROBE + number, "method": "initialize", "params": params}
                body = json.dumps(message).encode()
                self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
                self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            while piece := os.read(self._process.stdout.fileno(), 65_536):
                self._received += piece

    def _measure(self) -> None:
        with suppress(OSError, StopIteration):
            status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii", errors="replace")
            high = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
            self.memory = max(self.memory, int(high.split()[1]) << 10)
        with suppress(OSError, IndexError):
            stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii", errors="replace")
            fields = stat.rpartition(")")[2].split()
            self.cpu = max(self.cpu, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))

    def _is_busy(self) -> bool:
        for stat in Path(f"/proc/{self._process.pid}/task").glob("*/stat"):
            with suppress(OSError, IndexError):
                if stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0] in "RD":
                    return True
        return False
