"""Imports, calls and verifies one generated file after another while everything that could start or open is trapped.

Run as a script with files as arguments; prints a JSON line for each: its name, the verdict, what was trapped.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

WRITING = frozenset("wax+")
PROCESS = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "pty.", "os.startfile")
OTHERS = ("socket.", "ctypes.", "urllib.", "ftplib.", "smtplib.", "os.remove", "os.rename", "os.mkdir", "os.chmod")
seen: list[str] = []
state = {"armed": False}


def is_trapped(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether a run of a generated file has no business with this."""
    if event == "open":
        _, mode, flags = arguments
        writes = isinstance(mode, str) and WRITING & set(mode)
        return bool(writes) or (isinstance(flags, int) and bool(flags & 0o3103))
    if event == "import":
        top = str(arguments[0]).partition(".")[0]
        return top not in KNOWN and top not in ("stepcore", "torch")
    return event.startswith((*PROCESS, *OTHERS))


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook: notes and refuses."""
    if state["armed"] and is_trapped(event, arguments):
        state["armed"] = False
        seen.append(f"{event} {arguments!r}"[:200])
        state["armed"] = True
        raise PermissionError(f"trapped: {event}")


def verdict_of(file: Path) -> str:
    """Import the file, call its program on drawn data and compare it with its reference."""
    spec = importlib.util.spec_from_file_location(f"generated_{file.name.split('.')[0]}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (program,) = [value for value in vars(module).values() if isinstance(value, Program)]
    return "accepted" if program.verify().accepted else "rejected"


def main() -> None:
    """The first file is run without the trap, so that what the simulator loads late is loaded."""
    sys.addaudithook(hook)
    for number, name in enumerate(sys.argv[1:]):
        state["armed"] = number > 0
        seen.clear()
        try:
            result = verdict_of(Path(name))
        except PermissionError as error:
            result = str(error)
        state["armed"] = False
        print(json.dumps({"file": Path(name).name, "verdict": result, "trapped": seen}), flush=True)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    import stepcore.sim.selftest  # noqa: F401
    from stepcore.surface.program import Program

    KNOWN = {name.partition(".")[0] for name in sys.modules} | set(sys.builtin_module_names)
    main()
