"""Where files are written: through a file beside them, and nowhere else than their path led when it was asked for.

Functions of a user may put links into the folder of their run. Who writes there after they have run is no worker, and
nothing keeps it in that folder: so it decides where to write before, and follows no link that came since.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, ELOOP, ENOTDIR
from pathlib import Path
from typing import Final

from stepcore.records import Record

_BEGINNING: Final = 100  # bytes of a file's name in that of the file beside it
_OPENED: Final = Path("/proc/self/fd")  # a folder in it is the one that was opened, whatever its path leads to now

# A pipe that nobody reads would be waited for.
_NO_LINK_NOR_PIPE: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class WritingPlace(Record):
    """A file or a folder that may not be there yet: ``path`` as it was given, ``real`` without links."""

    path: Path
    real: Path

    def below(self, name: str) -> WritingPlace:
        """Return the place of a file in this folder; a link of that name is none."""
        return WritingPlace(self.path / name, self.real / name)

    def write(self, data: bytes) -> None:
        """Replace the file in one step; its mode stays.

        Raises:
            OSError: it cannot be written, or a link lies in the way, with the path that was given; devices, pipes and
                sockets are not replaced.
        """
        with self._named():
            if not self.real.name:
                raise OSError(EINVAL, "a folder is there")
            with _opened(self.real.parent) as folder:
                _replace(folder / self.real.name, data)

    def add(self, data: bytes, *, is_new: bool) -> None:
        """Write behind what the file holds, or begin it anew.

        Raises:
            OSError: as for :meth:`write`.
        """
        way = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        way |= _NO_LINK_NOR_PIPE | (os.O_TRUNC if is_new else 0)
        with (
            self._named(),
            _opened(self.real.parent) as folder,
            os.fdopen(_begun(folder / self.real.name, way), "ab") as file,
        ):
            file.write(data)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Let errors name the path that was given.

        The file beside it is one that nobody knows, and a full disk does not say where at all.
        """
        try:
            yield
        except OSError as error:
            error.filename, error.filename2 = str(self.path), None
            raise


def place_of(path: Path) -> WritingPlace:
    """Return where a path leads now.

    Raises:
        OSError: its links lead to each other.
    """
    try:
        return WritingPlace(path, path.resolve())
    except RuntimeError as error:  # what `resolve` says of them
        raise OSError(ELOOP, os.strerror(ELOOP), str(path)) from error


@contextmanager
def _opened(folder: Path) -> Iterator[Path]:
    """Yield a path of a folder that leads to it even when others rename what is above, or put links there.

    Raises:
        OSError: there is a link in its path, or no such folder.
    """
    if not _OPENED.is_dir():  # another system, where functions are not kept in the folder of their run, either
        yield folder
        return
    way = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    at = os.open(folder.anchor, way)
    try:
        for name in folder.parts[1:]:
            above, at = at, _step_into(at, name, way)
            os.close(above)
        yield _OPENED / str(at)
    finally:
        os.close(at)


def _step_into(folder: int, name: str, way: int) -> int:
    try:
        return os.open(name, way, dir_fd=folder)
    except OSError as error:
        if error.errno in (ENOTDIR, ELOOP) and stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise _came_since() from error
        raise


def _begun(path: Path, way: int) -> int:
    try:
        return os.open(path, way, 0o666)
    except OSError as error:
        if error.errno == ELOOP:
            raise _came_since() from error
        raise


def _came_since() -> OSError:
    return OSError(ELOOP, "it leads elsewhere now than before: a link was put there")


def _replace(target: Path, data: bytes) -> None:
    from tempfile import mkstemp  # takes as long to load as checking a small file, and is needed by fixes alone

    mode = None
    with suppress(FileNotFoundError):
        found = target.lstat().st_mode
        if stat.S_ISLNK(found):
            raise _came_since()
        if not stat.S_ISREG(found):
            raise OSError(EINVAL, "a folder is there" if stat.S_ISDIR(found) else "the path leads to no regular file")
        if not os.access(target, os.W_OK):  # else the folder alone would decide, and a protected file be replaced
            raise PermissionError(EACCES, os.strerror(EACCES))
        mode = stat.S_IMODE(found)
    beginning = os.fsdecode(os.fsencode(target.name)[:_BEGINNING])  # a name may be as long as the system lets it be
    descriptor, name = mkstemp(dir=target.parent, prefix=f".{beginning}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode if mode is not None else 0o666 & ~_umask())
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
