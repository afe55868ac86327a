"""Files that runs have read: modules beside a program, its data. A run is outdated when one of them is another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepcore.file_marks import mark_of

if TYPE_CHECKING:
    from stepserver.server import StepServer


class Reads:
    """Knows the present marks of files; each is looked at once until something on disk may have changed."""

    def __init__(self, server: StepServer) -> None:
        self._server = server
        self._marks: dict[str, str] = {}

    def taken(self, result: Mapping[str, Any] | None) -> dict[str, str]:
        """Return the files of a job's result, or of the detail of its error, and watch them from now on."""
        files = _texts((result or {}).get("reads"), "files")
        self._server.watch.follow(files)
        for path in files:
            self._marks.pop(path, None)  # it may have changed before it was watched
        return files

    def changed(self, files: Mapping[str, str]) -> str:
        """Return the name of a file that is not as it was read; empty where there is none."""
        for path, mark in files.items():
            if path not in self._marks:
                self._marks[path] = mark_of(path)
            if self._marks[path] != mark:
                return Path(path).name
        return ""

    def look_again(self) -> None:
        """Files may have changed."""
        self._marks.clear()


def kept(result: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the modules that a worker keeps imported, as the result of its job says, with their marks."""
    found = (result or {}).get("reads")
    files = _texts(found, "files")
    names = found.get("kept") if isinstance(found, Mapping) else None
    return {path: files[path] for path in names or () if path in files}


def _texts(found: object, key: str) -> dict[str, str]:
    """Return a table of texts; a worker ran code of the user, who may have put anything into its answer."""
    table = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(table, Mapping):
        return {}
    return {path: mark for path, mark in table.items() if isinstance(path, str) and isinstance(mark, str)}
