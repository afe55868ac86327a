"""A worker whose jobs misbehave on request; `python -m job_worker`."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Context, Handler, JobError, serve, serving


def echo(payload: Any, _context: Context) -> Any:
    """Give the payload back."""
    return payload


def garbage(_payload: Any, _context: Context) -> tuple[bool, int]:
    """Whether garbage is collected, and how many objects are never searched."""
    return gc.isenabled(), gc.get_freeze_count()


def pid(_payload: Any, context: Context) -> int:
    """The worker's process id as its owner sees it."""
    return context.pid


def sleep(seconds: float, context: Context) -> str:
    """Sleep without looking at a cancellation."""
    context.progress("asleep")
    time.sleep(seconds)
    return "slept"


def polite(seconds: float, context: Context) -> str:
    """Sleep, but stop when asked."""
    context.progress("asleep")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        context.check()
        time.sleep(0.01)
    return "slept"


def late(seconds: float, context: Context) -> None:
    """Sleep, then look at a cancellation."""
    context.progress("asleep")
    time.sleep(seconds)
    context.check()


def until(path: str, context: Context) -> str:
    """Wait for a file."""
    context.progress("waiting")
    while not os.path.exists(path):  # noqa: PTH110
        context.check()
        time.sleep(0.01)
    return "there"


def spin(_payload: Any, context: Context) -> None:
    """Compute for ever."""
    context.progress("spinning")
    while True:
        pass


def die(number: int, _context: Context) -> None:
    """End by a signal."""
    os.kill(os.getpid(), number)
    time.sleep(10)


def leave(code: int, _context: Context) -> None:
    """End as C's exit does."""
    os._exit(code)


def mute(work: str, _context: Context) -> None:
    """Close the pipes, and go on as another program, asleep or computing."""
    if work == "program":
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"])
    os.closerange(0, 1024)
    if work == "sleep":
        time.sleep(600)
    while True:
        pass


def hoard(size: int, _context: Context) -> int:
    """Allocate `size` bytes."""
    return len(bytearray(size))


def hoard_apart(order: list[int], _context: Context) -> int:
    """Let `order[0]` processes hold `order[1]` bytes each, all at once."""
    count, size = order
    program = f"held = bytearray({size})\nheld[::4096] = b'x' * len(held[::4096])\nprint(flush=True)\ninput()"
    pipe = subprocess.PIPE
    started = [subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe) for _ in range(count)]
    told = [each.stdout.readline() for each in started if each.stdout]
    time.sleep(1.0)
    for each in started:
        each.communicate(b"\n")
    return told.count(b"\n")


def noise(text: str, _context: Context) -> str:
    """Print in every way that user code has, and read from standard input."""
    print(text)
    os.write(1, text.encode() + b"\n")
    subprocess.run([sys.executable, "-c", f"print({text!r})"], check=True)
    return text + sys.stdin.read()


def ask(questions: list[Any], context: Context) -> list[Any]:
    """Collect the owner's answers."""
    return [context.ask(question) for question in questions]


def environment(_payload: Any, _context: Context) -> dict[str, str]:
    """The worker's variables."""
    return dict(os.environ)


def fail(message: str, _context: Context) -> None:
    """Fail as a job should."""
    raise JobError("STEP404", message, {"line": 3})


def defect(message: Any, _context: Context) -> None:
    """Fail as no job should."""
    raise ZeroDivisionError(message or "a defect")


def no_json(_payload: Any, _context: Context) -> Any:
    """Return what JSON cannot hold."""
    return {1, 2}


def forge(kind: str, context: Context) -> str:
    """Write into the protocol's pipe what no worker writes; with the job's own key where it is not to be unknown."""
    key = json.dumps(context._job).encode()
    pipe = context._owner._writer.fileno()
    lines = {
        "endless": [b"x" * (1 << 20)] * 70,
        "deep": [b"[" * 100_000 + b"\n"],
        "empty": [
            b'{"type":"result","job":%s}\n' % key,
            b'{"type":"error","job":%s}\n' % key,
            b'{"type":"ask","job":%s}\n' % key,
        ],
        "odd": [
            b'{"type":"result","job":1,"value":0}\n',
            b'{"type":["result"],"job":%s}\n' % key,
            b'{"job":%s}\n' % key,
            b"\xff\n",
        ],
        "others": [b'{"type":"result","job":"2","value":0}\n', b'{"type":"result","job":true,"value":0}\n'],
        "hello": [b'{"type":"hello","job":%s,"version":"0"}\n' % key, b'{"type":"ended","job":%s}\n' % key],
        "flood": [],
        "cancelled": [b'{"type":"cancelled","job":%s}\n' % key],
        "questions": [b'{"type":"ask","job":%s,"ask":%d,"question":0}\n' % (key, number) for number in range(1_000)],
    }[kind]
    for line in lines:
        os.write(pipe, line)
    while kind == "flood":
        os.write(pipe, b'{"type":"progress","job":%s,"data":0}\n' % key * 1_000)
    return kind


def child(_payload: Any, context: Context) -> None:
    """Start a process that would outlive this one, tell it, and wait."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    context.progress("started")
    time.sleep(60)


HANDLERS = [
    Handler(untyped(run.__name__), run)
    for run in (
        echo, garbage, pid, sleep, polite, late, until, spin, die, leave, mute, hoard, hoard_apart, noise, ask,
        environment, fail, defect, no_json, forge, child,
    )
]  # fmt: skip


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--protocol", protocol]:
            vars(serving)["PROTOCOL"] = int(protocol)
        case ["--version", version]:
            vars(serving)["VERSION"] = version
        case ["--broken"]:
            sys.exit("cannot start today")
        case ["--silent"]:
            signal.pause()
        case ["--slow"]:
            time.sleep(1.0)
    serve(HANDLERS)
