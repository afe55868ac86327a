"""Files that the command line is told to work on: found in folders, and reported where they cannot be used."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from stepcore.findings.diagnostics import Diagnostic
from stepcore.records import Record
from stepcore.reports.text import FileReport
from stepcore.settings.config import matches
from stepcore.system.scarce import reason_of
from stepcore.text.files import MAX_BYTES, NoRegularFile, Unusable, decode, read_beginning
from stepcore.text.span import SourceFile, Span
from stepcore.text.wording import one_line

_NOTHING: Final = "no *.step.yaml and no Python file that imports stepcore in this folder"
_SUFFIXES: Final = (".step.yaml", ".step.yml")
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "build", "dist"})
_LAST_LETTER: Final = re.compile(rb"[\xc0-\xff]?[\x80-\xbf]{0,3}\Z")  # in UTF-8, whole or not; not of ASCII
_IMPORT: Final = re.compile(r"^[ \t]*(?:import|from)[ \t]+stepcore\b", re.MULTILINE)


def unusable_report(error: Unusable) -> FileReport:
    """Return it as the only finding of its file."""
    found = Diagnostic(error.code, Span(0, 0), error.message)
    return FileReport(SourceFile(error.path, ""), [found], unusable=True)


class Skipped(Record):
    """What a search in folders left out although it may hold programs, and why."""

    path: Path
    reason: str


def find_programs(
    paths: Sequence[str], excluded: Callable[[Path], Sequence[str]], skipped: Callable[[Skipped], None] | None = None
) -> Iterator[Path | Unusable]:
    """Return the files to check: files as given, folders searched, each once; what cannot be used in its place.

    ``excluded`` gives the configured patterns for a folder; ``skipped`` is told what they or unreadable text left out.
    """
    search = _Search(skipped or (lambda _left: None))
    seen: set[Path] = set()
    for name in paths:
        path = Path(name)
        whole, mark, program = name.rpartition("::")
        if not name:
            yield Unusable("''", "this path is empty; name a file or a folder")
            continue
        if mark and not path.exists() and Path(whole).exists():
            yield Unusable(path, f"whole files are checked; leave ::{one_line(program)} out")
            continue
        if not path.is_dir():
            found: list[Path] = [path]
        else:
            found = sorted(search.folder(path, excluded(path)))
            if not found:
                yield Unusable(path, search.unlisted.get(path) or _NOTHING)
        for file in found:
            key = file.absolute()
            if key not in seen:
                seen.add(key)
                yield file


class _Search:
    """Finds programs below a folder and tells what it leaves out."""

    def __init__(self, skipped: Callable[[Skipped], None]) -> None:
        self._skipped = skipped
        self.unlisted: dict[Path, str] = {}  # folders of which nobody tells what they hold, and why

    def folder(self, folder: Path, excluded: Sequence[str]) -> Iterator[Path]:
        """Yield the files below ``folder`` that are ours."""
        for root, directories, names in os.walk(folder, onerror=self._leave):
            here = Path(root)
            kept = [name for name in directories if not _is_skipped(name)]
            directories[:] = [name for name in kept if not self._excludes(here / name, folder, excluded)]
            for path in (here / name for name in names if name.endswith((*_SUFFIXES, ".py"))):
                if not self._excludes(path, folder, excluded) and (path.suffix != ".py" or self._is_ours(path)):
                    yield path
        for path, reason in self.unlisted.items():
            if path != folder:
                self._skipped(Skipped(path, reason))

    def _leave(self, error: OSError) -> None:
        self.unlisted[Path(error.filename)] = f"the folder cannot be read: {reason_of(error)}"

    def _excludes(self, path: Path, folder: Path, patterns: Sequence[str]) -> bool:
        if not matches(path, folder, patterns):
            return False
        self._skipped(Skipped(path, "excluded by the configuration"))
        return True

    def _is_ours(self, path: Path) -> bool:
        """Return whether a Python file imports stepcore; one that only seems to, and is no text, is told."""
        try:
            beginning = read_beginning(path)
        except PermissionError as error:
            self._skipped(Skipped(path, f"the file cannot be read: {reason_of(error)}"))  # nobody knows whose it is
            return False
        except (OSError, NoRegularFile):
            return False  # of a folder only what is ours is read; other files are none of our business
        try:
            return bool(_IMPORT.search(_decoded(path, beginning)))
        except Unusable as error:
            if b"stepcore" in beginning:
                self._skipped(Skipped(path, error.message))
            return False


def _decoded(path: Path, beginning: bytes) -> str:
    """Return the text with which a file begins; a letter that is cut in two at its end is left out."""
    if len(beginning) == MAX_BYTES:
        beginning = _LAST_LETTER.sub(b"", beginning)
    return decode(path, beginning, large=True).text


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED
