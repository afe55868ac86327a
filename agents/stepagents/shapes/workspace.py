"""Python files of a workspace that may call a function, the nearest first and never too many. Nothing is run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MOST_FILES: Final = 2000  # that are opened
MOST_FOLDERS: Final = 1000
MOST_BYTES: Final = 1 << 20  # of one file
MOST_TOTAL: Final = 32 << 20
_SKIPPED: Final = frozenset(
    {"node_modules", "site-packages", "__pycache__", "build", "dist", "venv", "env", "target", "out"}
)
_MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
_HIGHEST: Final = 6  # folders above a file where its project may begin


def project_of(path: Path) -> Path:
    """Return the folder of the project that a file belongs to, its own folder where nothing marks one."""
    folder = path.absolute().parent
    for candidate in (folder, *folder.parents[: _HIGHEST - 1]):
        if any((candidate / mark).exists() for mark in _MARKS):
            return candidate
    return folder


def texts_with(name: str, own: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the other Python files below ``root`` that hold the word ``name``, those near ``own`` first.

    Links are not followed; folders of environments and results are left out; what cannot be read is no caller.
    """
    total = 0
    for count, path in enumerate(_files(own.absolute(), root.absolute())):
        if count >= MOST_FILES or total > MOST_TOTAL:
            return
        try:
            if not path.is_file() or path.stat().st_size > MOST_BYTES:
                continue
            data = path.read_bytes()
        except OSError:
            continue
        total += len(data)
        if name.encode() in data:
            yield path, data.decode("utf-8", errors="replace")


def _files(own: Path, root: Path) -> Iterator[Path]:
    seen = {own}
    for folder in dict.fromkeys([own.parent, root]):
        for place in _walk(folder):
            if place not in seen:
                seen.add(place)
                yield place


def _walk(root: Path) -> Iterator[Path]:
    for count, (folder, folders, files) in enumerate(os.walk(root, followlinks=False)):
        if count >= MOST_FOLDERS:
            return
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED and not _is_environment(folder, name)
        )
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _is_environment(folder: str, name: str) -> bool:
    return Path(folder, name, "pyvenv.cfg").exists()
