"""Files that runs have read: modules beside a program, its data. A run is outdated when one of them is another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stepcore.system.file_marks import mark_of

if TYPE_CHECKING:
    from stepcore.jobdata.failures import Reads


class FilesRead:
    """Knows the present marks of files; each is looked at once until something on disk may have changed.

    ``follow`` watches files from the first run on that reads them.
    """

    def __init__(self, follow: Callable[[Iterable[str]], None]) -> None:
        self._follow = follow
        self._marks: dict[str, str] = {}

    def taken(self, reads: Reads | None) -> dict[str, str]:
        """Return the files that a job has read, and watch them from now on."""
        files = {} if reads is None else reads.files
        self._follow(files)
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


def kept(reads: Reads | None) -> dict[str, str]:
    """Return the modules that a worker keeps imported, with their marks."""
    return {} if reads is None else {path: reads.files[path] for path in reads.kept if path in reads.files}
