"""Runs inputs in processes of their own and holds each outcome against what was promised.

Everything is counted in processor time and bytes; waits have ceilings that no sound run comes near.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from socket import create_server
from typing import Any

from .corpus import ACCEPTED, ANY, HERE, REFUSED, ROOT, Input

RUN = "STEPSMITH_HOSTILE_RUN"  # marks all processes of a run, whoever started them
PORT = "STEPSMITH_HOSTILE_PORT"  # somebody listens there: a connection is a proof
CPU = 30.0  # seconds, the start of a worker included
MEMORY = 900 << 20  # bytes that checking and converting may need beyond what was in use
WORKER_MEMORY = 2_000 << 20  # bytes: the limit of a job (1 GiB) and what torch needs by itself
CEILING = 600.0  # seconds of waiting for one input


@dataclass
class Outcome:
    """What was seen of one input, and what is wrong with that (nothing, if all promises hold)."""

    input: Input
    problems: list[str] = field(default_factory=list)
    cpu: float = 0.0
    memory: int = 0
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        problems = "\n".join(f"    {problem}" for problem in self.problems)
        return f"{self.input.name} (expected: {self.input.expect}, codes: {self.seen.get('codes')})\n{problems}"


def run(inputs: Sequence[Input], tell: Callable[[Outcome], None] = lambda outcome: None) -> list[Outcome]:
    """Run inputs of any kinds; outcomes in the order of the inputs. ``tell`` hears of each as soon as it is known."""
    from .frames import run_frame

    outcomes: dict[Path, Outcome] = {}
    frames = (run_frame(item) for item in inputs if item.kind == "frame")
    for outcome in chain(*map(_run_group, _groups(inputs)), frames):
        if outcome.input.path in outcomes:  # a process that it left behind is noticed later
            outcome.problems[:0] = outcomes[outcome.input.path].problems
        outcomes[outcome.input.path] = outcome
        tell(outcome)
    return [outcomes[item.path] for item in inputs]


def _groups(inputs: Sequence[Input]) -> list[list[Input]]:
    """Inputs that share a process. A user's own Python runs in workers without the trap, so it has its own."""
    trapped = [item for item in inputs if item.kind not in ("python", "frame")]
    python = [item for item in inputs if item.kind == "python"]
    return [group for group in (trapped, python) if group]


def _run_group(inputs: list[Input]) -> Iterator[Outcome]:
    with tempfile.TemporaryDirectory() as name, _listener() as listener:
        folder = Path(name).resolve()
        left = list(inputs)
        while left:
            run_id = uuid.uuid4().hex
            done = 0
            for outcome in _one_process(left, folder, run_id, listener):
                done += 1
                yield outcome
            leftovers = processes_of(run_id)
            if leftovers:
                yield from _blamed(leftovers, left[:done])
            left = left[done:]


def _one_process(inputs: list[Input], folder: Path, run_id: str, listener: _Listener) -> Iterator[Outcome]:
    """Run inputs until one of them ends the process; that one is the last outcome."""
    with (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "hostile.inside", str(folder), *(str(item.path) for item in inputs)],
            cwd=folder,
            env=environment(folder, run_id) | {PORT: str(listener.port)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(process, lines), daemon=True).start()
    by_name = {item.name: item for item in inputs}
    current, ended = inputs[0], False
    try:
        while True:
            try:
                line = lines.get(timeout=CEILING)
            except queue.Empty:
                yield Outcome(current, [f"no outcome after {CEILING:g} s"])
                return
            if line is None:
                ended = True
                break
            message = json.loads(line)
            if "begin" in message:
                current = by_name[message["begin"]]
                continue
            message["connections"] = listener.taken()
            yield judged(by_name.pop(message["input"]), message)
    finally:
        try:
            code = process.wait(30 if ended else 0)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        assert process.stdout is not None
        process.stdout.close()
    if by_name:
        words = (folder / "stderr").read_text(encoding="utf-8", errors="replace")[-600:]
        yield Outcome(current, [f"the process ended with {_ending(code)}: {words}"])


def judged(item: Input, seen: dict[str, Any]) -> Outcome:
    """Hold what was seen of an input against the promises."""
    problems = list(seen["problems"])
    problems += [f"trapped: {event}" for event in seen["trapped"]]
    problems += [f"foreign text wrote {path}" for path in seen["owned"]]
    problems += ["foreign text opened a connection"] * bool(seen["connections"])
    if "Traceback (most recent call last)" in seen["output"]:
        problems.append(f"a traceback: {seen['output'][-800:]}")
    codes = set(seen["codes"])
    internal = codes & ({"STEP911"} if item.kind == "python" else {"STEP911", "STEP407"})
    problems += [f"an internal error: {code}: {_line(seen['output'], code)}" for code in sorted(internal)]
    if seen["cpu"] > CPU:
        problems.append(f"{seen['cpu']:.0f} s of processor time")
    if seen["memory"] > MEMORY:
        problems.append(f"{seen['memory'] >> 20} MiB to check and convert it")
    if seen["worker_memory"] > WORKER_MEMORY:
        problems.append(f"{seen['worker_memory'] >> 20} MiB in a worker with a limit of 1024")
    return Outcome(item, problems + _unexpected(item, seen, codes), seen["cpu"], seen["memory"], seen)


def _unexpected(item: Input, seen: dict[str, Any], codes: set[str]) -> list[str]:
    if item.kind == "name" or item.expect == ANY:
        return []  # of names the reports have been compared; what they say of the content is not the matter
    if item.expect == ACCEPTED:
        return [] if seen["accepted"] else [f"refused, although it is harmless: {seen['output'][-400:]}"]
    if seen["accepted"]:
        return ["accepted"]
    if item.expect != REFUSED and item.expect not in codes:
        return [f"{item.expect} was expected"]
    if item.kind not in ("answer", "config") and not seen["told"] and not codes - {"STEP103"}:
        return [f"refused without a finding: {seen['output'][-400:]}"]
    return []


def _line(text: str, code: str) -> str:
    return next((line.strip()[:300] for line in text.splitlines() if code in line), "")


# -- processes ---------------------------------------------------------------------------------------------------------


def environment(folder: Path, run_id: str) -> dict[str, str]:
    """Return the variables of a trapped process: the trap first on the path, scratch and home in ``folder``."""
    path = [HERE / "trap", HERE.parent, ROOT, ROOT / "agents", ROOT / "server"]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder),
        "NO_COLOR": "1",
        "STEPSMITH_HOSTILE_LOG": str(folder / "trapped.log"),
        "STEPSMITH_HOSTILE_SCRATCH": str(folder),
        RUN: run_id,
    }


def processes_of(run_id: str) -> dict[int, str]:
    """Return the processes of a run that still live, with their command lines."""
    found: dict[int, str] = {}
    wanted = f"{RUN}={run_id}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                if command:
                    found[int(entry.name)] = command
    return found


def _blamed(leftovers: dict[int, str], inputs: Sequence[Input]) -> Iterator[Outcome]:
    """Kill what outlived its owner. A payload sleeps for a number of seconds that only its file names."""
    for pid, command in leftovers.items():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        number = command.rpartition(" ")[2].encode()
        guilty = [item for item in inputs if number.isdigit() and number in item.path.read_bytes()]
        yield Outcome((guilty or list(inputs))[-1], [f"{command!r} outlived its owner"])


def _read(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    with suppress(ValueError):  # closed when the run was given up
        for line in process.stdout:
            lines.put(line.decode("utf-8", "replace"))
    lines.put(None)


def _ending(code: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"exit code {code}"


class _Listener:
    """A port of this machine, and how many connections it got."""

    def __init__(self) -> None:
        self._socket = create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    def taken(self) -> int:
        """Return the number of connections since the last call."""
        count = 0
        with suppress(BlockingIOError):
            while True:
                self._socket.accept()[0].close()
                count += 1
        return count

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


@contextmanager
def _listener() -> Iterator[_Listener]:
    listener = _Listener()
    try:
        yield listener
    finally:
        listener.close()
