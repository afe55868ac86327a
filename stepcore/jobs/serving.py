"""The worker's side: run jobs that the owner sends, one after the other, in the main thread.

What user code prints never reaches the protocol: the pipe is moved away from descriptor 1 before anything else.
A second thread listens to the owner; when its pipe closes, the worker and all that it started end at once. Before
anything else the worker gives up what its jobs do not need, see :mod:`stepcore.isolation`.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Final, NoReturn

from stepcore.isolation import Isolation, Report, unprotected
from stepcore.jobdata.kinds import JobKind, Request, Result
from stepcore.jobdata.plain import Mistyped, from_plain, to_plain
from stepcore.jobs.importing import importing
from stepcore.jobs.messages import (
    HOME,
    ISOLATION_VARIABLE,
    MEMORY_VARIABLE,
    OWNER_VARIABLE,
    PROTOCOL,
    JobCancelled,
    JobError,
    decode,
    encode,
)
from stepcore.system.data_limit import data_bytes, leave_limit_of_owner
from stepcore.system.scarce import what_is_scarce
from stepcore.text.raised import trace_of
from stepcore.text.wording import class_name
from stepcore.version import VERSION

_PR_SET_PDEATHSIG: Final = 1
_SCARCE: Final = 75  # the exit code of a worker for which the system had nothing left: EX_TEMPFAIL
_MESSAGE: Final = "an internal error of Stepsmith stopped this job ({}); --debug shows where"


class Context:
    """What a handler gets besides its payload."""

    def __init__(self, owner: _Owner, job: str) -> None:
        self._owner = owner
        self._job = job
        self._cancelled = threading.Event()
        self._concluded = threading.Event()
        self._answers: dict[int, queue.SimpleQueue[Mapping[str, Any] | None]] = {}
        self._asks = itertools.count(1)

    @property
    def pid(self) -> int:
        """The process id of this worker as its owner sees it; ``os.getpid`` may count in a namespace of its own."""
        return self._owner.pid

    @property
    def isolation(self) -> dict[str, Any]:
        """What is in force here, as :meth:`stepcore.isolation.Report.as_json` gives it."""
        return self._owner.isolation

    @property
    def cancelled(self) -> bool:
        """True once the owner wants the job to stop."""
        return self._cancelled.is_set()

    @property
    def concluded(self) -> bool:
        """True once the owner wants the job to end with what it has."""
        return self._concluded.is_set()

    def check(self) -> None:
        """Raise ``JobCancelled`` if the owner wants the job to stop; call it often."""
        if self._cancelled.is_set():
            raise JobCancelled

    def progress(self, data: Any) -> None:
        """Tell the owner how far the job is: a record of the job's kind, or anything that JSON holds."""
        self._owner.send({"type": "progress", "job": self._job, "data": to_plain(data)})

    def ask(self, question: Any) -> Any:
        """Return the owner's answer; may be called by several threads.

        Raises:
            JobError: the owner could not answer.
            JobCancelled: the job is to stop.
        """
        self.check()
        number = next(self._asks)
        answer = self._answers[number] = queue.SimpleQueue()
        self._owner.send({"type": "ask", "job": self._job, "ask": number, "question": to_plain(question)})
        message = answer.get()
        del self._answers[number]
        if message is None:
            raise JobCancelled
        if "error" in message:
            raise JobError("STEP911", str(message["error"]))
        return message.get("value")

    def cancel(self) -> None:
        """Called by the listening thread."""
        self._cancelled.set()
        for answer in list(self._answers.values()):
            answer.put(None)

    def conclude(self) -> None:
        """Called by the listening thread."""
        self._concluded.set()

    def answer(self, message: Mapping[str, Any]) -> None:
        """Called by the listening thread."""
        waiting = self._answers.get(message["ask"])
        if waiting is not None:
            waiting.put(message)


class Handler:
    """What a worker does for jobs of one kind: plain JSON in, plain JSON out, records between.

    ``run`` returns a result, raises :class:`JobError` for what the user should read, and anything else for an internal
    error.
    """

    def __init__(self, kind: JobKind[Request, Any, Result], run: Callable[[Request, Context], Result]) -> None:
        self.kind: JobKind[Any, Any, Any] = kind
        self._run: Callable[[Any, Context], Any] = run

    def __call__(self, payload: Any, context: Context) -> Any:
        """Return the result. Raises JobError for an order that is none of this kind, too."""
        try:
            request = from_plain(self.kind.request, payload)
        except Mistyped as error:
            raise JobError("STEP911", f"this is no order for the job {self.kind.name!r}: {error}") from error
        return to_plain(self._run(request, context))


class _Owner:
    """The pipes to the owner."""

    def __init__(self) -> None:
        self._reader, self._writer = _take_pipes()
        self._lock = threading.Lock()
        self.starts: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.context: Context | None = None
        self.job = ""
        self.pid = os.getpid()
        self.isolation: dict[str, Any] = {}

    def send(self, message: Mapping[str, Any]) -> None:
        line = encode(message)
        with self._lock:
            self._writer.write(line)
            self._writer.flush()

    def listen(self) -> None:
        try:
            for line in self._reader:
                self._dispatch(decode(line))
        finally:
            _end_everything()

    def _dispatch(self, message: dict[str, Any]) -> None:
        if message["type"] == "start":
            self.starts.put(message)
            return
        context = self.context
        if context is None or message.get("job") != self.job:
            return  # of a job that has ended meanwhile
        if message["type"] == "cancel":
            context.cancel()
        elif message["type"] == "conclude":
            context.conclude()
        elif message["type"] == "answer":
            context.answer(message)


def serve(handlers: Sequence[Handler], prepare: Callable[[], None] | None = None) -> NoReturn:
    """Serve jobs until the owner goes away; never returns.

    ``prepare`` does what is slow (imports) before the worker says hello and before the memory limit is set.
    """
    known = {each.kind.name: each for each in handlers}
    try:
        owner = _begin(prepare)
    except (ImportError, OSError, RuntimeError, MemoryError) as error:
        lacking = what_is_scarce(error)
        if not lacking:
            raise
        print(lacking, file=sys.stderr, flush=True)  # the owner tells a worker's last line
        os._exit(_SCARCE)
    hello = {"version": VERSION, "protocol": PROTOCOL, "home": HOME, "pid": owner.pid, "isolation": owner.isolation}
    owner.send({"type": "hello", "job": "", **hello})
    while True:
        start = owner.starts.get()
        owner.job = start["job"]
        context = owner.context = Context(owner, start["job"])
        owner.send({"type": "begin", "job": start["job"]})
        message = _perform(known, start, context)
        _flush()
        try:
            owner.send({"job": start["job"], **message})
        except (TypeError, ValueError) as error:  # a value that is no JSON
            owner.send({"job": start["job"], **_internal_error(error)})


def _begin(prepare: Callable[[], None] | None) -> _Owner:
    """Isolate this process, listen to the owner, import what jobs need, and limit the memory."""
    leave_limit_of_owner()  # the language server has one, for its own work
    _die_with_owner()
    isolation, pid = _isolate()
    owner = _Owner()
    owner.pid, owner.isolation = pid, isolation.as_json()
    threading.Thread(target=owner.listen, name="stepsmith-listen", daemon=True).start()
    with importing():
        if prepare is not None:
            prepare()
    _limit_memory()
    return owner


def serve_with(
    package: str, missing: str, handlers: Sequence[Handler], prepare: Callable[[], None] | None = None
) -> NoReturn:
    """Serve jobs that need ``package``; where it is not installed each ends with STEP410 and says ``missing``."""
    from importlib.util import find_spec  # here, because owners import this module, too

    if find_spec(package) is not None:
        serve(handlers, prepare)

    def refuse(_payload: Any, _context: Context) -> Any:
        raise JobError("STEP410", missing)

    serve([Handler(each.kind, refuse) for each in handlers])


def _perform(handlers: Mapping[str, Handler], start: Mapping[str, Any], context: Context) -> dict[str, Any]:
    handler = handlers.get(start["kind"])
    if handler is None:
        return _error(JobError("STEP911", f"this worker knows no job of kind {start['kind']!r}"))
    try:
        return {"type": "result", "value": handler(start["payload"], context)}
    except JobCancelled:
        return {"type": "cancelled"}
    except JobError as error:
        return _error(error)
    except MemoryError as error:
        return _error(JobError("STEP406", "the memory limit was reached", trace=trace_of(error)))
    except Exception as error:  # noqa: BLE001 - reported as STEP911
        return _internal_error(error)


def _error(error: JobError) -> dict[str, Any]:
    detail = to_plain(error.detail)
    return {"type": "error", "code": error.code, "message": error.message, "detail": detail, "trace": error.trace}


def _internal_error(error: BaseException) -> dict[str, Any]:
    return _error(JobError("STEP911", _MESSAGE.format(class_name(error)), trace=trace_of(error)))


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Move the protocol to fresh descriptors; 0 becomes empty, 1 becomes a copy of 2 (the owner's log)."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(reader, "rb"), os.fdopen(writer, "wb")


def _flush() -> None:
    """Deliver what user code printed; it may have closed or replaced the streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _die_with_owner() -> None:
    """Let Linux kill this process when its owner dies, even in the middle of native code."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    owner = os.environ.get(OWNER_VARIABLE)
    if owner is not None and os.getppid() != int(owner):  # it died before prctl was called
        _end_everything()


def _isolate() -> tuple[Report, int]:
    """Give up what the owner says that the jobs do not need; where it says nothing, files are read-only and there is
    no network. Returns what is in force, and the process id as the owner sees it.
    """
    text = os.environ.pop(ISOLATION_VARIABLE, None)
    wanted = Isolation() if text is None else Isolation.decode(text)
    if not sys.platform.startswith("linux"):
        return unprotected(wanted), os.getpid()
    from stepcore.isolation.enter import enter  # here, because owners import this module, too

    return enter(wanted, limited=MEMORY_VARIABLE in os.environ)


def _end_everything() -> NoReturn:
    """End this process and the group that it leads."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _limit_memory() -> None:
    """Allow so many bytes beyond what is allocated now (data segment and anonymous maps, where Linux counts both)."""
    limit = os.environ.get(MEMORY_VARIABLE)
    if limit is None or not sys.platform.startswith("linux"):
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = data_bytes() + int(limit)
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, wanted))  # the hard limit, too: nobody raises it again
