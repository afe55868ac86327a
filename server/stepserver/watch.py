"""Files that change outside of the editor: tasks that open answers belong to, configuration, and what runs have read.

The client watches the first two if it can; else watchdog looks at the folders that open documents depend on, and at no
others. What a run has read may be any file anywhere, so watchdog looks at its folder in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from stepserver.projects import CONFIG_NAMES, is_task_path

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

    from stepcore.ide.analysis import Analysis
    from stepserver.documents import Module
    from stepserver.server import StepServer

log = logging.getLogger(__name__)

_GLOBS: Final = ("**/*.{step,impl}.{yaml,yml}", "**/*.{yaml,yml}", *(f"**/{name}" for name in CONFIG_NAMES))
_LEVELS: Final = 4  # folders upward in which a configuration file is looked for changes
_MOST_FOLDERS: Final = 200  # of files that runs have read; those in others are looked at when something is saved
_QUIET: Final = frozenset({"opened", "closed", "closed_no_write"})


class Watch:
    """Tells the server when a file changed that something depends on."""

    def __init__(self, server: StepServer) -> None:
        self._server = server
        self._observer: BaseObserver | None = None
        self._folders: set[Path] = set()
        self._followed: set[str] = set()
        self._due: set[str] = set()

    async def start(self) -> None:
        """Have the client watch, if it can."""
        if not self._server.client.watches:
            return
        watchers = [types.FileSystemWatcher(glob) for glob in _GLOBS]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registration = types.Registration("stepsmith-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await self._server.protocol.ask(types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams([registration]))

    def needs(self, module: Module, analysis: Analysis) -> bool:
        """Watch what ``module`` depends on, where the client does not; return whether that is more than before."""
        if self._server.client.watches or analysis.kind == "none" or not module.is_file:
            return False
        parents = list(Path(module.path).parents)[:_LEVELS]
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
                folder = Path(path).parent
                while not folder.is_dir() and folder != folder.parent:
                    self._followed.add(str(folder))  # the file appears with it
                    folder = folder.parent
                if folder not in self._folders and len(self._folders) < _MOST_FOLDERS:
                    self._folders.add(folder)
                    self._add(folder)

    def changed(self, path: str) -> None:
        """Take note of a changed file; called in the thread of the observer."""
        if path in self._followed:  # so there is a simulation
            self._server.call_in_loop(self._soon, "files of runs", self._server.simulation.look_again)
        if not self._server.client.watches and (is_task_path(path) or path.endswith(CONFIG_NAMES)):
            self._server.call_in_loop(self._soon, "changed files", self._server.on_disk)

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
            self._server.call_later(0.05, lambda: self._now(what, action))

    def _now(self, what: str, action: Callable[[], None]) -> None:
        self._due.discard(what)
        self._server.reporter.run(what, action)

    def _add(self, folder: Path) -> None:
        from watchdog.events import FileSystemEvent, FileSystemEventHandler
        from watchdog.observers import Observer

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
