"""The life of a session: start, settings, trust, files on disk, end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from lsprotocol import types
from pygls.uris import to_fs_path

from stepserver.server import StepServer
from stepserver.settings import SECTION, read_settings


async def initialized(ls: StepServer, _params: types.InitializedParams) -> None:
    """Ask for what may be asked only now."""
    await ls.watch.start()
    await ls.pull_settings()


async def configuration(ls: StepServer, params: types.DidChangeConfigurationParams) -> None:
    """Let changed settings hold: those of the notification, or what the client answers when asked."""
    if ls.client.configuration:
        await ls.pull_settings()
    elif isinstance(params.settings, Mapping):
        await ls.apply(read_settings(params.settings.get(SECTION, params.settings)), {})


async def folders(ls: StepServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Follow the folders of the window."""
    event = params.event
    ls.change_folders([folder.uri for folder in event.added], [folder.uri for folder in event.removed])
    await ls.pull_settings()


async def watched_files(ls: StepServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Look again at what depends on files that changed on disk."""
    ls.watch.told(path for change in params.changes if (path := to_fs_path(change.uri)) is not None)


async def trust(ls: StepServer, params: Any) -> None:
    """Take note of ``stepsmith/trust {trusted}``."""
    await ls.trust(isinstance(params, Mapping) and params.get("trusted") is True)


async def interpreter(ls: StepServer, params: Any) -> None:
    """Take note of ``stepsmith/interpreter {folder?, path}``."""
    if isinstance(params, Mapping):
        await ls.use_interpreter(params.get("folder"), params.get("path"))


async def shutdown(ls: StepServer, _params: Any) -> None:
    """Leave no process behind; the answer tells that none is left."""
    ls.simulation.cancel()
    await asyncio.get_running_loop().run_in_executor(None, ls.close)
