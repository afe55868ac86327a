"""The order in which a worker gives up what it does not need: before it has threads, and before torch is imported."""

from __future__ import annotations

import glob
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from stepcore.isolation import guardian, landlock, memory, mounts, namespaces, seccomp
from stepcore.isolation.kernel import MACHINE, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, drop_capabilities, prctl
from stepcore.isolation.memory import GroupMemory
from stepcore.isolation.policy import Isolation, Report

_SCRATCH_PREFIX: Final = "stepsmith-scratch-"
_FORGOTTEN: Final = 86400.0  # seconds
_MAX_FILE: Final = 1 << 30  # bytes of one file that a user's function writes
_PACKAGES: Final = ("stepcore", "stepagents", "ruamel", "torch", "numpy")
# What programs outside of the worker start or obey; environments of Python are known by the file in them.
_MOST_LINKS: Final = 40  # as many as Linux follows
_OBEYED: Final = (".git", ".vscode", ".venv/pyvenv.cfg", "venv/pyvenv.cfg", "env/pyvenv.cfg")
_SYSTEM: Final = (
    "/usr", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache", "/etc/localtime", "/proc/self",
    "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
    "/sys/devices/system/node", "/dev/urandom", "/dev/random",
)  # fmt: skip
_PLAIN_DEVICES: Final = ("/dev/null", "/dev/full")
_ZEROS: Final = "/dev/zero"  # shared maps of it, which need to write, are memory that no limit counts
_GPUS: Final = ("/dev/nvidia*", "/dev/dri", "/dev/kfd", "/dev/dxg")
# Where libraries put files that nobody wrote by hand.
_CACHES: Final = ("XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "MPLCONFIGDIR", "NUMBA_CACHE_DIR")


def enter(isolation: Isolation, *, limited: bool) -> tuple[Report, int]:
    """Isolate this process, as far as this Linux can. ``limited`` says that its memory is going to be.

    It forks (see :mod:`stepcore.isolation.guardian`) and returns in the worker: what is in force, and the worker's
    process id as its owner sees it.
    """
    report = Report(isolation.profile)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory.limit_what_data_leaves_out()
    report.add("memory", "limits of each process")
    folders, readable = writable_folders(isolation), libraries() if isolation.profile == "text" else []
    kept = kept_places(folders)
    outer_proc = os.open("/proc", os.O_PATH | os.O_CLOEXEC)
    try:
        made = namespaces.separate(isolation)
    except OSError as error:
        made = frozenset()
        reason = f"no namespaces ({error.strerror})"
        report.add("processes", "subreaper")
        report.lack("processes", f"{reason}: they end with the worker's guardian, unless that is killed with -9")
        report.lack("processes", "others can be listed in /proc")
    scratch = _fork(isolation, folders, kept, made, report, limited=limited)
    pid = int(os.readlink("self", dir_fd=outer_proc))
    os.close(outer_proc)
    _lack_of_mounts(isolation, kept, report)
    _restrict(isolation, _paths(isolation, folders, readable, scratch), made, report)
    _use(scratch, isolation)
    return report, pid


def writable_folders(isolation: Isolation) -> tuple[str, ...]:
    """Return the folders of ``isolation`` that may be written, without those that hold more than a run's files: the
    user's home, the folder of all temporary files, and whatever contains one of them.
    """
    found: list[str] = []
    for folder in sorted(map(os.path.realpath, isolation.folders)):
        inside = any(folder == known or folder.startswith(known + "/") for known in found)
        if os.path.isdir(folder) and not _holds_more(folder) and not inside:  # noqa: PTH112
            found.append(folder)
    return tuple(found)


def kept_places(folders: Iterable[str]) -> tuple[str, ...]:
    """Return what lies below writable folders and must not be written all the same: this Python, its libraries and
    other environments, which are started outside of the worker, and what version control and editors obey. Where one
    of these is a link, so are the link and what it leads to.
    """
    own = (sys.prefix, sys.base_prefix, *_package_folders())
    found: set[str] = set()
    for folder in folders:
        places = (place for path in (*own, *_obeyed(folder)) for place in _led_through(path))
        found.update(place for place in places if place.startswith(folder.rstrip("/") + "/"))
    return tuple(sorted(found))


def _obeyed(folder: str) -> Iterator[str]:
    for name in _OBEYED:
        place, _, sign = name.partition("/")
        path = f"{folder}/{place}"
        if os.path.exists(f"{path}/{sign}" if sign else path):  # noqa: PTH110
            yield path


def _led_through(path: str) -> Iterator[str]:
    """Yield the links through which a path leads, each where it lies, and its end."""
    end = os.path.realpath(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path.rstrip("/"))
        path = f"{os.path.realpath(folder)}/{name}"
        if path == end or not os.path.islink(path):  # noqa: PTH114
            break
        yield path
        path = os.path.join(os.path.dirname(path), os.readlink(path))  # noqa: PTH115, PTH118, PTH120
    yield end


def _holds_more(folder: str) -> bool:
    """Return whether a folder is, or contains, the user's home or the folder of all temporary files."""
    shared = (os.path.realpath(path) for path in (os.path.expanduser("~"), tempfile.gettempdir()))  # noqa: PTH111
    return any(place == folder or place.startswith(folder.rstrip("/") + "/") for place in shared)


def _fork(
    isolation: Isolation,
    folders: Sequence[str],
    kept: Sequence[str],
    made: frozenset[str],
    report: Report,
    *,
    limited: bool,
) -> str:
    """Become the worker, and return its scratch folder."""
    hidden = any(f"{folder}/".startswith(f"{mounts.SHARED_MEMORY}/") for folder in folders)  # by a mount on top
    in_memory = "mount" in made and os.path.isdir(mounts.SHARED_MEMORY) and not hidden  # noqa: PTH112
    scratch = "" if in_memory else _make_scratch()

    def watch() -> GroupMemory | None:
        report.add("memory", "a watch of all together")
        return GroupMemory({*folders, scratch}, 1 + isolation.workers) if limited else None

    def arrange() -> GroupMemory | None:
        nonlocal scratch
        if not scratch:
            programs = isolation.profile == "user"
            private = mounts.private_shared_memory(programs=programs, report=report)
            scratch = mounts.SHARED_MEMORY if private else _make_scratch()
        if "mount" in made:
            mounts.arrange((*folders, scratch), kept, report)
        _drop(report)
        return watch()

    if "PID" in made:
        report.add("processes", "PID namespace")
        report.add("processes", "IPC namespace")
        guardian.under_init(arrange, scratch)
    else:
        guardian.under_subreaper(scratch, watch())
        _drop(report)
    if "network" in made:
        report.add("network", "network namespace")
    if scratch != mounts.SHARED_MEMORY:
        report.add("scratch", "a folder that the guardian removes")
        if "mount" not in made:
            report.lack("scratch", "its size is not limited")
    return scratch


def _lack_of_mounts(isolation: Isolation, kept: Sequence[str], report: Report) -> None:
    """Say what Landlock leaves open where mounts are not read-only."""
    is_protected = "files" in report.layers and bool(report.layers["files"].by)
    if isolation.profile == "text" or is_protected or not landlock.version():
        return
    report.lack("files", "modes, times and attributes of the user's files can be changed, but not what they hold")
    if kept:
        report.lack("files", f"{', '.join(kept)} can be written")


def _drop(report: Report) -> None:
    try:
        drop_capabilities()
        report.add("capabilities", "all dropped")
    except OSError as error:
        report.lack("capabilities", str(error))


def _limit_files(most: int) -> None:
    """Let no file become larger than so many bytes, for good; a limit that whoever runs this has set stays."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    soft, hard = (most if limit == resource.RLIM_INFINITY else min(limit, most) for limit in limits)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _restrict(isolation: Isolation, paths: Iterable[tuple[str, int]], made: frozenset[str], report: Report) -> None:
    prctl("PR_SET_DUMPABLE", PR_SET_DUMPABLE, 1)
    prctl("PR_SET_NO_NEW_PRIVS", PR_SET_NO_NEW_PRIVS, 1)
    report.add("capabilities", "no new privileges")
    _limit_files(mounts.SCRATCH_BYTES if isolation.profile == "text" else _MAX_FILE)
    known = landlock.version()
    if known:
        landlock.restrict(paths, network=isolation.network)
        report.add("files", f"Landlock {known}")
        if known >= 4 and not isolation.network:
            report.add("network", f"Landlock {known}")
        if known >= 6:
            report.add("processes", f"Landlock {known} (signals)")
    elif "files" in report.layers and report.layers["files"].by:
        report.lack("files", "no Landlock: what the user may read can be read, and terminals and other devices written")
    else:
        report.lack("files", "no Landlock: what the user may write can be written")
    if seccomp.available():
        seccomp.restrict(isolation, 0 if "PID" in made else os.getppid())
        report.add("calls", "seccomp")
        report.add("memory", "seccomp (none that lies in no file)")
        report.add("network", "seccomp" if not isolation.network else "seccomp (IP only)")
    else:
        report.lack("calls", f"no seccomp filter for {MACHINE}")
        report.lack("memory", "what lies in no file and is mapped by no process is not counted")
    if isolation.network:
        report.lack("network", "allowed by the user's settings")
    elif "network" not in report.layers:
        report.lack("network", "no namespaces, no Landlock, no filter of calls: whatever runs can use it")


def _paths(
    isolation: Isolation, folders: Sequence[str], readable: Sequence[str], scratch: str
) -> Iterator[tuple[str, int]]:
    """Yield what Landlock allows."""
    yield scratch, landlock.WRITE
    for device in _PLAIN_DEVICES:
        yield device, landlock.DEVICE
    yield _ZEROS, landlock.READ
    if isolation.profile == "text":
        for path in (*_SYSTEM, *readable):
            yield path, landlock.READ
        return
    yield "/", landlock.RUN
    for folder in folders:
        yield folder, landlock.WRITE
    for pattern in _GPUS:
        for device in glob.glob(pattern):  # noqa: PTH207
            yield device, landlock.DEVICE


def libraries() -> list[str]:
    """Return the folders that hold this Python and what it imports; none that holds the user's other files."""
    found = [*sys.path, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    found += os.environ.get("LD_LIBRARY_PATH", "").split(":")
    places = {os.path.realpath(path) for path in found if path}
    chosen = [place for place in places if not _holds_more(place)]
    return [*chosen, *_package_folders()]


def _package_folders() -> Iterator[str]:
    for name in _PACKAGES:
        with suppress(ImportError, ValueError):
            spec = find_spec(name)
            yield from map(os.path.realpath, (spec.submodule_search_locations or ()) if spec else ())


def _use(scratch: str, isolation: Isolation) -> None:
    """Let temporary files and caches lie in the scratch folder."""
    for name in ("TMPDIR", "TEMP", "TMP", *_CACHES):
        os.environ[name] = scratch
    if isolation.profile == "text":
        os.environ["HOME"] = scratch
        os.environ.setdefault("USER", "stepsmith")  # the user's name is in a file that is not read any more
    tempfile.tempdir = None


def _make_scratch() -> str:
    """Make a scratch folder where none comes from a mount; remove those that dead guardians left."""
    for left in Path(tempfile.gettempdir()).glob(_SCRATCH_PREFIX + "*"):
        owner = left.name.removeprefix(_SCRATCH_PREFIX).partition("-")[0]
        with suppress(OSError, ValueError):
            facts = left.lstat()
            is_old = facts.st_mtime < time.time() - _FORGOTTEN  # in another container the same number may be alive
            if is_old and facts.st_uid == os.getuid() and not os.path.exists(f"/proc/{int(owner)}"):  # noqa: PTH110
                guardian.forget(str(left))
    return tempfile.mkdtemp(prefix=f"{_SCRATCH_PREFIX}{os.getpid()}-")
