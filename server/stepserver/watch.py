"""Files that change outside of the editor: tasks that open answers belong to, configuration, and what runs have read.

The client watches them if it can; else watchdog looks at the folders that open documents depend on, and at no others.
What a run has read may be any file anywhere: a client has to be able to watch a folder that it is told. The server that
comes with the extension has no watchdog, which is no pure Python.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from stepserver.documents import Module
from stepserver.editor import Editor
from stepserver.guard import Reporter
from stepserver.loop import Loop
from stepserver.projects import CONFIG_NAMES, is_task_path
from stepserver.workspace import Workspace

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

    from stepcore.ide.analysis import Analysis

log = logging.getLogger(__name__)

_GLOBS: Final = ("**/*.{step,impl}.{yaml,yml}", "**/*.{yaml,yml}", *(f"**/{name}" for name in CONFIG_NAMES))
_LEVELS: Final = 4  # folders upward in which a configuration file is looked for changes
_MOST_FOLDERS: Final = 200  # of files that runs have read; those in others are looked at when something is saved
_QUIET: Final = frozenset({"opened", "closed", "closed_no_write"})


class FileWatch:
    """Tells when a file changed that something depends on: ``on_disk`` of tasks and configuration, ``read`` of runs."""

    def __init__(
        self,
        workspace: Workspace,
        editor: Editor,
        loop: Loop,
        reporter: Reporter,
        on_disk: Callable[[], None],
        read: Callable[[], None],
    ) -> None:
        self._workspace = workspace
        self._editor = editor
        self._loop = loop
        self._reporter = reporter
        self._on_disk = on_disk
        self._read = read
        self._observer: BaseObserver | None = None
        self._folders: set[Path] = set()
        self._followed: set[str] = set()
        self._due: set[str] = set()

    async def start(self) -> None:
        """Have the client watch, if it can."""
        if not self._workspace.client.watches:
            return
        await self._register("stepsmith-files", _GLOBS)

    def needs(self, module: Module, analysis: Analysis) -> bool:
        """Watch what ``module`` depends on, where the client does not; return whether that is more than before."""
        if self._workspace.client.watches or analysis.kind == "none" or not module.is_file:
            return False
        parents = Path(module.path).parents[:_LEVELS]
        fresh = [folder for folder in parents if folder not in self._folders and folder.is_dir()]
        self._folders.update(fresh)
        for folder in fresh:
            self._add(folder)
        return bool(fresh)

    def follow(self, paths: Iterable[str]) -> None:
        """Watch files that a run has read or missed."""
        for path in paths:
            if path not in self._followed:
                self._followed.add(path)
                folder = Path(path)  # itself, where what it holds was listed
                if not folder.is_dir():
                    folder = folder.parent
                while not folder.is_dir() and folder != folder.parent:
                    self._followed.add(str(folder))  # the file appears with it
                    folder = folder.parent
                if folder not in self._folders and len(self._folders) < _MOST_FOLDERS:
                    self._folders.add(folder)
                    self._follow_folder(folder)

    def _follow_folder(self, folder: Path) -> None:
        if self._workspace.client.watches_anywhere:
            self._reporter.start("files of runs", self._ask_for(folder, len(self._folders)))
        else:
            self._add(folder)

    async def _ask_for(self, folder: Path, number: int) -> None:
        await self._register(f"stepsmith-read-{number}", [{"baseUri": folder.as_uri(), "pattern": "*"}])
        self._soon("files of runs", self._read)  # what changed before the client looked

    async def _register(self, name: str, patterns: Iterable[str | dict[str, str]]) -> None:
        # Plain JSON: the converters of these types would be made while the first document waits for its findings.
        options = {"watchers": [{"globPattern": each} for each in patterns]}
        registration = {"id": name, "method": types.WORKSPACE_DID_CHANGE_WATCHED_FILES, "registerOptions": options}
        await self._editor.ask(types.CLIENT_REGISTER_CAPABILITY, {"registrations": [registration]})

    def told(self, paths: Iterable[str]) -> None:
        """Take note of files that changed, as the client says."""
        changed = set(paths)
        if any(map(self._is_followed, changed)):
            self._soon("files of runs", self._read)
        if any(path.endswith((".yaml", ".yml", *CONFIG_NAMES)) for path in changed):
            self._on_disk()

    def changed(self, path: str) -> None:
        """Take note of a changed file; called in the thread of the observer."""
        if self._is_followed(path):  # so there is a simulation
            self._loop.from_thread(self._soon, "files of runs", self._read)
        if not self._workspace.client.watches and (is_task_path(path) or path.endswith(CONFIG_NAMES)):
            self._loop.from_thread(self._soon, "changed files", self._on_disk)

    def _is_followed(self, path: str) -> bool:
        """Return whether a run has read a file, or listed the folder that it is in."""
        return path in self._followed or str(Path(path).parent) in self._followed

    def close(self) -> None:
        """Stop looking."""
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join(5.0)

    def _soon(self, what: str, action: Callable[[], None]) -> None:
        """Several events of one write are one change."""
        if what not in self._due:
            self._due.add(what)
            self._loop.later(0.05, lambda: self._now(what, action))

    def _now(self, what: str, action: Callable[[], None]) -> None:
        self._due.discard(what)
        self._reporter.run(what, action)

    def _add(self, folder: Path) -> None:
        try:
            from watchdog.events import FileSystemEvent, FileSystemEventHandler
            from watchdog.observers import Observer
        except ImportError:
            log.warning("%s is not watched, it is looked at when something is saved: there is no watchdog", folder)
            return

        watch = self

        class Events(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                if event.event_type not in _QUIET:
                    for path in (event.src_path, event.dest_path):
                        watch.changed(str(path))

        try:
            if self._observer is None:
                self._observer = Observer()
                self._observer.daemon = True
                self._observer.start()
            self._observer.schedule(Events(), str(folder), recursive=False)
        except OSError as error:  # the system gives no more watches
            log.warning("%s is not watched: %s", folder, error)
