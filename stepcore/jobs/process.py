"""One worker process as its owner sees it: start, messages, kill."""

from __future__ import annotations

import errno
import logging
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Final

from stepcore.isolation import Isolation, Report
from stepcore.jobs.effort import Effort, usage_of_process, usage_of_tree
from stepcore.jobs.messages import (
    HOME,
    ISOLATION_VARIABLE,
    MEMORY_VARIABLE,
    MOST_LINE,
    OWNER_VARIABLE,
    PROTOCOL,
    JobError,
    decode,
    encode,
)
from stepcore.text.wording import clipped, one_line
from stepcore.version import VERSION

log = logging.getLogger(__name__)

_SECRET: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASS|[^D]_?PWD|CRED|AUTH|COOKIE|DBUS|BEARER|WEBHOOK|DSN|(?<![A-Z])PAT(?![A-Z])", re.IGNORECASE
)
# An address with a password in it, and keys of known services.
_SECRET_VALUE: Final = re.compile(
    r"://[^/\s@]*:[^/\s@]+@|-----BEGIN |(?<![\w-])(sk-|ghp_|gho_|github_pat_|glpat-|xox[abp]-|AKIA|hf_)\w{8}"
)
# What a worker needs that runs nobody's code: to find Python and its libraries, to name files, to count threads.
_NEEDED: Final = re.compile(
    r"PATH|PWD|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|VIRTUAL_ENV|LD_LIBRARY_PATH|PYTHON\w*|CONDA_PREFIX"
    r"|(OMP|MKL|OPENBLAS|GOMP|KMP|TORCH|ATEN|COVERAGE|COV|STEPSMITH)_?\w*"
)
_OUTPUT_LINES: Final = 400  # of what a worker prints, kept for the debug log
_OUTPUT_WIDTH: Final = 4096
_ERROR: Final = re.compile(r"[\w.]*(?:Error|Exception)\b")  # the line with which a traceback ends
_LONGEST_WORDS: Final = 300
_GROUPS: Final = hasattr(os, "killpg")
_HAS_GUARDIAN: Final = sys.platform.startswith("linux")
_GUARDIAN_SECONDS: Final = 2.0  # of its work, in which it has to end what the worker started
_LOOK: Final = 0.25  # seconds between two looks at what a process has used
_ENDING_SECONDS: Final = 5.0  # of its work, in which a worker that closed its pipe has to be gone

# Put into the queue of messages instead of a message.
ENDED: Final = {"type": "ended"}  # the worker closed its side
WAKE: Final = {"type": "wake"}  # look at the job again: it was cancelled, or the pool closes


def clean_environment(environ: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that look like credentials; ``extra`` is added as it is."""
    return {name: value for name, value in environ.items() if not _is_secret(name, value)} | dict(extra)


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRET.search(name) or _SECRET_VALUE.search(value))


def last_words(output: Iterable[str]) -> str:
    """Return what a process that ended said of why: its last error of Python, or its last line; "" of nothing."""
    said = [line.strip() for line in output if line.strip()]
    at = next((at for at in range(len(said) - 1, -1, -1) if _ERROR.match(said[at])), -1)
    return clipped(one_line(" ".join(said[at:] if at >= 0 else said[-1:])), _LONGEST_WORDS)


class WorkerProcess:
    """A started worker. Messages arrive in ``events`` (a queue that a reader thread fills)."""

    def __init__(
        self, command: Sequence[str], memory: int | None, env: Mapping[str, str], isolation: Isolation
    ) -> None:
        self.isolation = isolation
        self.in_force: Report | None = None  # from its hello on
        self.events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.output: deque[str] = deque(maxlen=_OUTPUT_LINES)
        self.problem = ""  # why nothing more is read from it, where that was its fault
        self._write_lock = threading.Lock()
        self._kill_lock = threading.Lock()
        self._killed = False
        self._threads: list[threading.Thread] = []
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(command, memory, env, isolation),
            start_new_session=_GROUPS,
        )
        self._pid = self._process.pid
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin: IO[bytes] = self._process.stdin
        try:
            self._start_thread(self._read_messages, self._process.stdout)
            self._start_thread(self._read_output, self._process.stderr)
        except RuntimeError as error:  # no thread: nobody would read what it says
            self.kill()
            raise BlockingIOError(errno.EAGAIN, str(error)) from error

    @property
    def pid(self) -> int:
        """Process id of the worker; until it says hello that of its guardian, the process that was started."""
        return self._pid

    @property
    def root(self) -> int:
        """Process id of what was started: the worker and all that it starts are below it."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """False once the process has ended, whatever ended it."""
        return self._process.poll() is None

    def wait_for_hello(self, seconds: float) -> None:
        """Wait until the worker is ready; ``JobError`` when it fails to start or is another version.

        ``seconds`` are of work, see :mod:`stepcore.jobs.effort`: imports take long on a busy machine.
        """
        effort = Effort(seconds, lambda: usage_of_tree(self.root))
        while (event := self.receive(_LOOK)) is None or event["type"] != "hello":
            if event is ENDED:
                raise not_started(f"could not start: {self.ending()}{self._last_words()}")
            if over := effort.over():
                raise not_started(f"did not start: given up {over}")
        if event.get("version") != VERSION or event.get("protocol") != PROTOCOL:
            raise JobError("STEP410", _other_build(event))
        self._pid = event["pid"]
        self.in_force = Report.from_json(event["isolation"])
        log.debug("worker %d (process %d): %s", self.pid, event["pid"], event["isolation"])

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message; a worker that is gone is noticed by the reader, not here."""
        try:
            with self._write_lock:
                self._stdin.write(encode(message))
                self._stdin.flush()
        except (OSError, ValueError) as error:  # ValueError: the pipe was closed by kill()
            log.debug("worker %d takes no message: %s", self.pid, error)

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message or event, or None after ``seconds``.

        A process forked by user code may hold the pipe open after the worker's death, hence the look at the process.
        """
        deadline = time.monotonic() + seconds
        while True:
            remaining = deadline - time.monotonic()
            try:
                return self.events.get(timeout=min(max(remaining, 0.0), 0.5))
            except queue.Empty:
                if self._process.poll() is not None:
                    return ENDED
                if remaining <= 0:
                    return None

    def kill(self) -> None:
        """End the worker and everything that it started. May be called twice, from any thread."""
        with self._kill_lock:
            if self._killed:
                return
            self._killed = True
        if _HAS_GUARDIAN:
            self._let_the_guardian_end()
        if _GROUPS:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError) as error:  # macOS: PermissionError for a zombie
                log.debug("worker %d is gone: %s", self.pid, error)
        self._process.kill()
        self._process.wait()
        try:
            self._stdin.close()
        except OSError as error:  # a message that was never read
            log.debug("worker %d: %s", self.pid, error)

    def _let_the_guardian_end(self) -> None:
        """Where there are no namespaces the guardian ends what the worker started; in one it just dies, as all do."""
        self._process.terminate()
        effort = Effort(_GUARDIAN_SECONDS, lambda: usage_of_process(self.root))
        while self._process.poll() is None:
            if effort.over():
                log.warning("the guardian %d of a worker does not react and is killed", self.root)
                return
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LOOK)

    def ending(self) -> str:
        """Say how the worker ended: "SIGSEGV", "exit code 3". One that closed its pipe and goes on is ended."""
        effort = Effort(_ENDING_SECONDS, lambda: usage_of_tree(self.root))
        while self._process.poll() is None:
            if effort.over():
                self.problem = "closed its pipe and went on"
                self.kill()
                break
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LOOK)
        code = self._process.wait()
        if code >= 0:
            return f"exit code {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def log_output(self) -> None:
        """Write what the worker printed to the debug log."""
        while self.output:
            log.debug("worker %d: %s", self.pid, one_line(self.output.popleft()))

    def _last_words(self) -> str:
        for thread in self._threads:
            thread.join(0.2)
        said = last_words(self.output)
        return f" ({said})" if said else ""

    def _start_thread(self, target: Any, stream: IO[bytes]) -> None:
        thread = threading.Thread(target=target, args=(stream,), name=f"stepsmith-read-{self.pid}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _read_messages(self, stream: IO[bytes]) -> None:
        with stream:
            while line := stream.readline(MOST_LINE + 1):
                if len(line) > MOST_LINE:  # it may never end: nothing after it can be read
                    self.problem = f"wrote a message of more than {MOST_LINE >> 20} MB"
                    break
                try:
                    self.events.put(decode(line))
                except ValueError as error:
                    log.debug("worker %d wrote no message (%s): %r", self.pid, error, line[:200])
        self.events.put(ENDED)

    def _read_output(self, stream: IO[bytes]) -> None:
        with stream:
            while line := stream.readline(_OUTPUT_WIDTH):
                self.output.append(line.decode("utf-8", "replace").rstrip("\r\n"))


def not_started(what: str) -> JobError:
    """Return the error of a worker that did not come to its first job: its output may say why."""
    return JobError("STEP407", f"the worker {what}", {"action": "log"})


def _other_build(hello: Mapping[str, Any]) -> str:
    """Say what differs between us and a worker that said ``hello``, where both are, and what to do."""
    theirs, protocol = one_line(hello.get("version")), one_line(hello.get("protocol"))
    place = f" in {one_line(hello['home'])}" if isinstance(hello.get("home"), str) else ""
    if theirs != VERSION:
        return (
            f"this is Stepsmith {VERSION} (in {HOME}), but its worker is version {theirs}{place}: "
            f"install stepsmith=={VERSION} in the worker's Python environment"
        )
    return (
        f"both are Stepsmith {VERSION}, but of two builds: here (in {HOME}) workers speak protocol {PROTOCOL}, and the "
        f"worker{place} speaks protocol {protocol}. If Stepsmith was updated while this ran, start it again (in an "
        "editor: restart the language server); else install the same build in the worker's Python environment, with "
        "pip's --force-reinstall, because both have one version number"
    )


def _environment(
    command: Sequence[str], memory: int | None, extra: Mapping[str, str], isolation: Isolation
) -> dict[str, str]:
    env = clean_environment(os.environ, extra)
    if isolation.profile == "text" and _GROUPS:
        env = {name: value for name, value in env.items() if _NEEDED.fullmatch(name) or name in extra}
    env[OWNER_VARIABLE] = str(os.getpid())
    env[ISOLATION_VARIABLE] = isolation.encode()
    env["PYTHONUNBUFFERED"] = "1"
    if memory is not None:
        env[MEMORY_VARIABLE] = str(memory)
    if command[0] == sys.executable and "PYTHONPATH" not in extra:
        # The same interpreter imports from the same places in the same order, as multiprocessing arranges it.
        env["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109
    return env
