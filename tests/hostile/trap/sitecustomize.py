"""The trap: an audit hook in each process of a hostile run, installed before anything else is imported.

Python imports a module of this name at its start. The owner of a run sets the variables below and puts this folder
first on the path; workers inherit both. What is trapped is written to the log and refused.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

LOG = "STEPSMITH_HOSTILE_LOG"  # the file that trapped events are appended to; empty: nothing is trapped
SCRATCH = "STEPSMITH_HOSTILE_SCRATCH"  # the folder that may be written

_PROCESS = frozenset(
    {
        "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn",
        "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
        "os.startfile",
    }
)  # fmt: skip
_PATHS = frozenset(
    {
        "os.remove", "os.rename", "os.mkdir", "os.rmdir",
        "os.link", "os.symlink", "os.truncate", "os.chmod",
        "os.chown", "os.utime", "os.setxattr", "os.chdir",
        "shutil.rmtree", "shutil.move", "shutil.copyfile", "shutil.copytree",
        "shutil.make_archive",
    }
)  # fmt: skip
_NETWORK = frozenset(
    {
        "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg",
        "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request",
        "ftplib.connect", "smtplib.connect", "http.client.connect",
    }
)  # fmt: skip
_ALWAYS = frozenset(
    {
        "builtins.input", "builtins.breakpoint", "code.interact", "webbrowser.open",
    }
)  # fmt: skip
# A worker notes with hooks of its own what a run reads, and what a traced function calls.
_HOOKS = ("/stepcore/sim/opened.py", "/stepagents/torchfn/guards.py")
# Nothing of ours imports these: whoever does was asked to by an input.
_BAIT_MODULES = frozenset(
    {
        "antigravity", "this", "turtle", "ftplib",
        "telnetlib", "smtplib", "pty", "webbrowser",
        "hostile_bait",
    }
)  # fmt: skip
_BAIT_FILES = ("/etc/passwd", "/etc/shadow", "/proc/self/environ", "stepsmith-owned")
_WORKERS = ("stepcore.", "stepagents.", "stepserver")
_CODE_LOADERS = frozenset({"os", "posix", "subprocess", "builtins", "sys"})
_OURS = ("/stepcore/", "/stepagents/", "/stepserver/", "/site-packages/", "/lib/python3")


def _real(path: str) -> str:
    return str(os.path.realpath(path))


def _is_worker(arguments: Any) -> bool:
    """Whether a command line is that of a worker of ours: this interpreter and a module of ours."""
    words = [str(word) for word in arguments] if isinstance(arguments, list | tuple) else []
    if "-m" not in words or _real(words[0]) != _real(sys.executable):
        return False
    at = words.index("-m")
    return words[at + 1].startswith(_WORKERS) and all(word.startswith("-") for word in words[1:at])


def _caller() -> str:
    """The file of the innermost frame that belongs neither to this hook nor to ctypes nor to the import system."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and "/ctypes/" not in file and not file.startswith("<frozen importlib"):
            return file
        frame = frame.f_back
    return ""


def _writes(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str) and any(letter in mode for letter in "wax+"):
        return True
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))


def install(log: str, scratch: str) -> dict[str, bool]:
    """Install the hook; the returned switch is for the runner's own bookkeeping."""
    switch = {"armed": True}
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    folder = _real(scratch) + os.sep

    def inside(path: Any) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a descriptor that is open already
        text = os.fsdecode(path)
        if text in (os.devnull, "/dev/tty"):
            return True
        return (_real(text) + os.sep).startswith(folder) and "stepsmith-owned" not in text

    def refuses(event: str, arguments: tuple[Any, ...]) -> bool:
        if event in ("open", "os.fork", "os.chdir") and "/stepcore/isolation/" in _caller():
            return False  # a worker gives up its rights
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, str) and path.startswith(_BAIT_FILES):
                return True
            return _writes(mode, flags) and not inside(path)
        if event in _PROCESS:
            return not _may_start(event, arguments)
        if event in _PATHS:
            return not inside(arguments[0])
        if event == "socket.__new__":
            return arguments[1] not in (0, -1, 1)  # AF_UNIX: the event loop's own pair
        if event == "import":
            return str(arguments[0]) in _BAIT_MODULES
        if event == "ctypes.dlopen":
            return "owned" in str(arguments[0]) or not any(part in _caller() for part in _OURS)
        if event == "sys.addaudithook":
            return not _caller().endswith(_HOOKS)
        if event == "pickle.find_class":
            return arguments[0] in _CODE_LOADERS
        return event in _NETWORK or event in _ALWAYS

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if not switch["armed"] or not refuses(event, arguments):
            return
        switch["armed"] = False  # what the next lines do is ours
        try:
            shown = repr(arguments)[:300].replace("\n", " ")
            os.write(descriptor, f"{event} {shown} from {_caller()}\n".encode(errors="backslashreplace"))
        finally:
            switch["armed"] = True
        raise PermissionError(f"trapped: {event}")

    sys.addaudithook(hook)
    return switch


def _may_start(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "subprocess.Popen":
        return _is_worker(arguments[1])
    if event in ("os.posix_spawn", "os.exec"):
        return _is_worker(arguments[1])
    return event == "os.fork" and "/stepcore/jobs/" in _caller()


SWITCH = install(os.environ[LOG], os.environ[SCRATCH]) if os.environ.get(LOG) else {"armed": False}
