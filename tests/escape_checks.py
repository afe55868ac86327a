"""What tests/escapes/README.md promises to its attempts: what lies around a worker, and when one got out."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from processes import PATIENCE
from stepcore.isolation import TEXT, Isolation, Report
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import JobError, Limits, Pool

ESCAPES = Path(__file__).with_name("escapes")
COMMAND = (sys.executable, "-m", "escape_worker")
SECONDS = 20.0
MEMORY = 1 << 30  # bytes that a worker may have beyond its start
_HEADER = re.compile(r"^# (text|user|needs): *(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Attempt:
    """A file of tests/escapes with its header."""

    path: Path
    title: str
    expected: dict[str, str]
    needs: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")


def read_attempt(path: Path) -> Attempt:
    """Read a file, whose header has to be complete."""
    text = path.read_text(encoding="utf-8")
    found = dict(_HEADER.findall(text))
    assert text.startswith("# "), f"{path.name}: the first line says what is tried"
    assert found.get("text") in ("refused", "n.a."), f"{path.name}: # text: refused or n.a."
    assert found.get("user") in ("refused", "allowed"), f"{path.name}: # user: refused or allowed"
    needs = tuple(item.strip() for item in found.get("needs", "").split(",") if item.strip())
    return Attempt(path, text.splitlines()[0][2:], found, needs)


ATTEMPTS = [read_attempt(path) for path in sorted(ESCAPES.glob("*.py"))]


@dataclass
class Surroundings:
    """Everything that an attempt may aim at; ``reached`` tells what was reached from outside the worker."""

    root: Path
    reached: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    mark: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @property
    def run(self) -> Path:
        return self.root / "run"

    def state(self) -> list[tuple[object, ...]]:
        """Return what must not change of ``outside``."""
        found: list[tuple[object, ...]] = []
        for path in [self.outside, *sorted(self.outside.rglob("*"))]:
            facts = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            names = os.listxattr(path, follow_symlinks=False)
            found.append(
                (
                    str(path), facts.st_mode, facts.st_uid, facts.st_gid, facts.st_nlink, facts.st_size,
                    facts.st_mtime_ns, facts.st_ino, content, tuple(names),
                )
            )  # fmt: skip
        return found


@contextlib.contextmanager
def surroundings(root: Path) -> Iterator[Surroundings]:
    """Make folders, listeners and a victim."""
    made = Surroundings(root)
    (made.outside / "locked").mkdir(parents=True)
    for folder, file in ((".git", "config"), (".venv", "pyvenv.cfg")):  # what others than the worker obey
        (made.run / folder).mkdir(parents=True)
        (made.run / folder / file).write_text("mine", encoding="utf-8")
    (made.run / "envs" / "main").mkdir(parents=True)
    (made.run / "envs" / "main" / "pyvenv.cfg").write_text("mine", encoding="utf-8")
    (made.run / "venv").symlink_to("env")
    (made.run / "env").symlink_to("envs/main")
    (made.outside / "secret.txt").write_text(made.token, encoding="utf-8")
    with contextlib.ExitStack() as stack:
        tcp, udp, path, abstract = (
            stack.enter_context(socket.socket(family, kind))
            for family, kind in (
                (socket.AF_INET, socket.SOCK_STREAM),
                (socket.AF_INET, socket.SOCK_DGRAM),
                (socket.AF_UNIX, socket.SOCK_STREAM),
                (socket.AF_UNIX, socket.SOCK_STREAM),
            )
        )
        name = "stepsmith-escape-" + made.mark
        short = stack.enter_context(_short_path())
        for each, address in ((tcp, ("127.0.0.1", 0)), (udp, ("127.0.0.1", 0)), (path, short), (abstract, "\0" + name)):
            each.bind(address)
        for listener in (tcp, path, abstract):
            listener.listen()
            _watch(made, listener, "a listener")
        _watch(made, udp, "a datagram socket")
        victim = stack.enter_context(
            subprocess.Popen(
                ["sleep", "600"],
                env={**os.environ, "ESCAPE_TOKEN": made.token},
                start_new_session=True,
            )
        )
        stack.callback(victim.kill)
        made.environment = {
            "ESCAPE_RUN": str(made.run),
            "ESCAPE_TCP": str(tcp.getsockname()[1]),
            "ESCAPE_UDP": str(udp.getsockname()[1]),
            "ESCAPE_UNIX": short,
            "ESCAPE_ABSTRACT": name,
            "ESCAPE_VICTIM": str(victim.pid),
            "ESCAPE_OWNER": str(os.getpid()),
            "ESCAPE_MARK": made.mark,
            "ESCAPE_MEMORY": str(MEMORY),
        }
        yield made


@contextlib.contextmanager
def _short_path() -> Iterator[str]:
    """Yield a path for a socket: the system allows 107 bytes, and folders of tests are deep."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="esc") as folder:
        yield f"{folder}/s"


def _watch(made: Surroundings, watched: socket.socket, what: str) -> None:
    def watch() -> None:
        with contextlib.suppress(OSError):
            if watched.type == socket.SOCK_DGRAM:
                watched.recv(100)
            else:
                watched.accept()[0].close()
            made.reached.append(what)

    threading.Thread(target=watch, daemon=True).start()


@dataclass
class Outcome:
    """How an attempt ended. ``escapes`` says how it got out, if it did."""

    escapes: list[str]
    shown: str
    in_force: Report | None = None
    guardian: int = 0  # process id of what was started


def run_attempt(attempt: Attempt, isolation: Isolation, made: Surroundings, *options: str) -> Outcome:
    """Run one attempt in a fresh worker of its own and look what it left."""
    before = made.state()
    key = secrets.token_hex(8)
    file = made.run / attempt.path.name
    file.write_text(attempt.text, encoding="utf-8")
    is_text = isolation.profile == "text"
    payload = {
        "path": str(file), "text": attempt.text, "outside": str(made.outside), "key": key,
        "folder": None if is_text else str(made.run), "environment": made.environment,
    }  # fmt: skip
    escapes: list[str] = []
    begun = threading.Event()
    # The mark is in the first environment of the worker, where /proc shows it.
    env = {"ESCAPE_MARK": made.mark, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    with Pool((*COMMAND, *options), 1, Limits(seconds=SECONDS, memory=MEMORY), env) as pool:
        job = pool.submit(untyped("attempt"), payload, on_progress=lambda _data: begun.set(), isolation=isolation)
        value: Any = None
        try:
            value = job.result(PATIENCE)
            shown = str(value["shown"]) if isinstance(value, dict) else repr(value)
        except JobError as error:
            shown = f"{error.code} {error.message}"
        workers = [worker for driver in pool._drivers for worker in driver.workers]
        in_force, guardian = (workers[0].in_force, workers[0].root) if workers else (None, 0)
    if value is not None and (not isinstance(value, dict) or value.get("key") != key):
        escapes.append(f"it forged an answer: {value!r}")
    elif value is not None and value["got"]:
        escapes.append(f"it returned {value['shown']}")
    assert begun.is_set(), f"the attempt was never made: {shown}"
    escapes += _left_behind(made, _GLIMPSE if "--open" in options else _MOMENT)
    after = made.state()
    if after != before:
        escapes.append(f"it changed {sorted({str(item[0]) for item in set(before) ^ set(after)})}")
    return Outcome(escapes + made.reached, shown, in_force, guardian)


_MOMENT = 20.0  # seconds: what is to be left lives longer (tests/escapes/m_stay_daemon.py)
_GLIMPSE = 0.5  # where nothing is isolated, what is left is expected and need not be waited for


def _left_behind(made: Surroundings, moment: float) -> list[str]:
    """Return what still runs ``moment`` seconds after the worker was ended, and end it."""
    found: list[str] = []
    victim = Path(f"/proc/{made.environment['ESCAPE_VICTIM']}/stat")
    state = victim.read_text(encoding="ascii").rpartition(")")[2].split()[0]
    if state not in "SR":
        found.append(f"the victim is in state {state}")
    heartbeat = made.run / "heartbeat"
    has_beaten = heartbeat.exists()
    marked = marked_processes(made.mark)
    end = time.monotonic() + moment
    while marked and time.monotonic() < end:  # the kernel takes a moment to end a namespace
        time.sleep(0.05)
        marked = marked_processes(made.mark)
    if marked:
        found.append(f"processes {marked} are left")
    if has_beaten:
        heartbeat.unlink(missing_ok=True)
        time.sleep(0.4)
        if heartbeat.exists():
            found.append("the heart still beats")
    for pid in marked:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


def marked_processes(mark: str) -> list[int]:
    """Return the processes that have inherited a mark."""
    wanted = f"ESCAPE_MARK={mark}".encode()
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def isolations(made: Surroundings) -> dict[str, Isolation]:
    """Return the two profiles, as the commands would make them."""
    return {"text": TEXT, "user": Isolation("user", (str(made.run),))}
