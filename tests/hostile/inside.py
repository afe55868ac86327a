"""The trapped process: runs the inputs that it is told, one after the other, and prints one line of JSON for each.

``python -m hostile.inside FOLDER FILE...``; started by :mod:`hostile.runner` with the trap's folder on the path. One
pool of workers serves all inputs of a process, as it serves all files of an editor; the rest is the command line as
users call it. Limits are set anew for each input, so that a bomb costs itself only.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .cases import LIMITS, Seen, run_case
from .corpus import Input, read_input

trap: Any = sys.modules["sitecustomize"]  # nobody but a trapped process runs this

CPU = 20  # seconds that one input may take in this process before the system ends it
MEMORY = 3 << 30  # bytes of address space beyond what is in use


def main() -> None:
    """Run all inputs."""
    folder = Path(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    # A Python file's own functions are the user's: they run free but for the isolation, and leave traces if they can.
    own = all(Path(file).parent.name == "python" for file in sys.argv[2:])
    pools = _share_pools({trap.LOG: ""} if own else {})
    for file in sys.argv[2:]:
        path = Path(file)
        item = read_input(path, path.parent.name)
        print(json.dumps({"begin": item.name}), file=out, flush=True)
        print(json.dumps(_measured(item, folder, pools)), file=out, flush=True)
    for pool in pools:
        pool.really_close()


def _measured(item: Input, folder: Path, pools: list[Any]) -> dict[str, Any]:
    case, home, log = folder / "case", folder / "home", Path(os.environ[trap.LOG])
    with _paused():
        for place in (case, home):
            _empty(place)
        if item.kind != "config":
            (case / "stepsmith.toml").write_text(LIMITS, encoding="utf-8")
        os.chdir(case)
        trapped = log.stat().st_size
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _status("self", "VmRSS")
    spent = _cpu(pools)
    own = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(own.ru_utime + own.ru_stime) + CPU, resource.RLIM_INFINITY))
    hardest = resource.getrlimit(resource.RLIMIT_AS)[1]  # whoever runs this may have set one, which cannot be raised
    most = _status("self", "VmSize") + MEMORY
    soft = most if hardest == resource.RLIM_INFINITY else min(most, hardest)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hardest))
    try:
        seen = run_case(item, case)
    except Exception as error:  # noqa: BLE001 - an exception of whatever kind that reaches us is the outcome
        import traceback

        seen = Seen(problems=[f"{type(error).__name__}: {str(error)[:200]}\n{traceback.format_exc()[-700:]}"])
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hardest, hardest))
        os.chdir(folder)
    return {
        "input": item.name,
        **asdict(seen),
        "trapped": log.read_bytes()[trapped:].decode("utf-8", "replace").splitlines(),
        "memory": max(_status("self", "VmHWM") - before, 0),
        "worker_memory": max((_status(str(pid), "VmHWM") for pool in pools for pid in pool.worker_pids), default=0),
        "cpu": _cpu(pools) - spent,
        "owned": [
            str(path) for path in folder.rglob("*stepsmith-owned*") if item.kind != "python" or case not in path.parents
        ],
    }


def _empty(folder: Path) -> None:
    """Leave a folder with nothing in it; it stays the same folder, because a worker may stand in it."""
    folder.mkdir(exist_ok=True)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


class _paused:
    """The trap lets us write to places of the system's."""

    def __enter__(self) -> None:
        trap.SWITCH["armed"] = False

    def __exit__(self, *_exception: object) -> None:
        trap.SWITCH["armed"] = True


def _share_pools(env: Mapping[str, str]) -> list[Any]:
    """Let all calls of ``verify`` and ``simulate`` use one pool: a worker takes seconds to import torch."""
    import stepcore.cli.simulate
    import stepcore.cli.verify
    from stepcore.jobs import Limits, Pool

    pools: list[Any] = []

    class Shared(Pool):
        """A pool that stays open."""

        def close(self) -> None:
            """Stay."""

        def really_close(self) -> None:
            """End the workers."""
            super().close()

    def shared(*_arguments: object, limits: Limits | None = None, **_more: object) -> Any:
        if not pools:
            pools.append(Shared(size=1, limits=limits, env=env))
        return pools[0]

    for module in (stepcore.cli.verify, stepcore.cli.simulate):
        module.Pool = shared  # type: ignore[attr-defined]
    return pools


def _status(pid: str, key: str) -> int:
    """Return a size of ``/proc/PID/status`` in bytes."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith(key + ":")), 0)


def _cpu(pools: list[Any]) -> float:
    """Seconds of processor time of this process, of its children that ended, and of the workers that live."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    ticks = os.sysconf("SC_CLK_TCK")
    for pid in [pid for pool in pools for pid in pool.worker_pids]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        spent += (int(fields[11]) + int(fields[12])) / ticks
    return spent


if __name__ == "__main__":
    main()
