"""Which files of the user a run reads: modules beside the program, data, whatever else Python code opens.

An audit hook of the interpreter sees each file that is opened, each folder that is listed and each module that is
looked for; a finder, which finds nothing, sees the modules that are looked for in packages (``from package import
module`` tells the hook nothing). Files of the installation do not count. What foreign code opens by itself, not through
Python, stays unseen.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

import stepcore
from stepcore.system.file_marks import mark_of

TOO_MANY: Final = 5_000  # files of one run; beyond that it counts as outdated at once
_WRITES: Final = os.O_WRONLY | os.O_RDWR
_IMPORTS: Final = "<frozen importlib."
_SYSTEM: Final = ("/dev/", "/proc/", "/sys/")


class Opened:
    """The files of one run, each with its mark when it was opened first; an empty mark is a file that was missed."""

    def __init__(self, folder: Path) -> None:
        self.marks: dict[str, str] = {}
        self._folder = str(folder)
        self._written: set[str] = set()

    def read(self, path: str) -> None:
        """Note a file that is about to be read."""
        if path not in self.marks and path not in self._written and not is_installed(path):
            self.marks[path] = mark_of(path) if len(self.marks) < TOO_MANY else "too many files"

    def write(self, path: str) -> None:
        """Forget a file that the run makes itself."""
        self._written.add(path)
        self.marks.pop(path, None)

    def changed(self, path: str) -> None:
        """Note that the run makes or removes a file or folder itself: what its folder holds is its own doing, too."""
        self.write(path)
        self.write(os.path.dirname(path))  # noqa: PTH120

    def missed(self, module: str, folder: str | None = None) -> None:
        """Note that a module is looked for which a folder, that of the program unless given, may come to have."""
        for ending in (".py", os.sep + "__init__.py"):
            path = os.path.join(folder or self._folder, module) + ending  # noqa: PTH118
            if not os.path.exists(path):  # noqa: PTH110
                self.read(path)


@contextmanager
def noting(opened: Opened | None) -> Iterator[None]:
    """Note in ``opened`` what is read inside."""
    if opened is None:
        yield
        return
    active = _active()
    active.append(opened)
    try:
        yield
    finally:
        active.remove(opened)


def is_installed(path: str) -> bool:
    """Return whether a file belongs to Python, to an installed package, or to Stepsmith itself."""
    return path.startswith(_installation()) or "site-packages" in path or "dist-packages" in path


@cache
def _installation() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    roots.add(str(Path(stepcore.__file__).parent))
    both = {*roots, *(os.path.realpath(root) for root in roots)}
    return (*_SYSTEM, *(root.rstrip(os.sep) + os.sep for root in both))


@cache
def _active() -> list[Opened]:
    """Return those who note; hooks the interpreter at the first call."""
    found: list[Opened] = []

    inside = threading.local()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        note = _EVENTS.get(event) if found and not hasattr(inside, "hook") else None
        if note is not None:
            inside.hook = True  # a mark opens the file, too
            try:
                with suppress(OSError, ValueError):  # a name that is no path
                    note(found[-1], *arguments)
            finally:
                del inside.hook

    sys.addaudithook(hook)
    sys.meta_path.insert(0, _InPackages(found))
    return found


class _InPackages(MetaPathFinder):
    """Finds nothing: it notes which modules are looked for in packages, whose folders may come to have them."""

    def __init__(self, active: list[Opened]) -> None:
        self._active = active

    def find_spec(self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> None:
        """Note the files in which a module of a package may be."""
        if self._active and path is not None:
            for folder in path:
                if not is_installed(folder + os.sep):
                    self._active[-1].missed(fullname.rpartition(".")[2], folder)


def _open(opened: Opened, path: object, mode: object, flags: object) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return
    name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
    if name.endswith(".pyc"):
        with suppress(ValueError):  # it stands alone
            name = source_from_cache(name)
    is_written = isinstance(flags, int) and flags & _WRITES
    if is_written or (isinstance(mode, str) and not {"w", "a", "x", "+"}.isdisjoint(mode)):
        opened.changed(name)
    else:
        opened.read(name)


def _change(opened: Opened, path: object, *more: object) -> None:
    if isinstance(path, str | bytes | os.PathLike) and more[-1:] == (-1,):  # else it is relative to an open folder
        opened.changed(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100


def _rename(opened: Opened, old: object, new: object, old_folder: object, new_folder: object) -> None:
    _change(opened, old, old_folder)
    _change(opened, new, new_folder)


def _list(opened: Opened, path: object) -> None:
    """Note a folder that is listed for the user's code: by itself, or by a library that it calls."""
    if (path is None or isinstance(path, str | bytes | os.PathLike)) and _is_for_user(sys._getframe(2)):
        opened.read(os.path.abspath(os.fsdecode(path or os.curdir)))  # noqa: PTH100


def _is_for_user(frame: FrameType | None) -> bool:
    """Return whether the user's code is nearer than an import: that, and what it runs, looks into many folders."""
    while frame is not None and not frame.f_code.co_filename.startswith(_IMPORTS):
        if not frame.f_code.co_filename.startswith("<") and not is_installed(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _import(opened: Opened, module: object, *_: object) -> None:
    if isinstance(module, str) and "." not in module:
        opened.missed(module)


_EVENTS: Final[dict[str, Callable[..., None]]] = {
    "open": _open,
    "import": _import,
    **dict.fromkeys(("os.listdir", "os.scandir"), _list),
    **dict.fromkeys(("os.mkdir", "os.remove", "os.rmdir"), _change),
    "os.rename": _rename,
}
