"""The life of a session: start, settings, trust, files on disk, end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from stepserver import reconfigure
from stepserver.parts import Parts
from stepserver.paths import file_path
from stepserver.reconfigure import apply, pull_settings, use_interpreter
from stepserver.settings import SECTION, read_settings


async def initialized(parts: Parts, _params: types.InitializedParams) -> None:
    """Ask for what may be asked only now."""
    await parts.watch.start()
    await pull_settings(parts)


async def configuration(parts: Parts, params: types.DidChangeConfigurationParams) -> None:
    """Let changed settings hold: those of the notification, or what the client answers when asked."""
    if parts.workspace.client.configuration:
        await pull_settings(parts)
    elif isinstance(params.settings, Mapping):
        await apply(parts, read_settings(params.settings.get(SECTION, params.settings)), {})


async def folders(parts: Parts, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Follow the folders of the window."""
    event = params.event
    removed = {folder.uri for folder in event.removed}
    kept = [folder for folder in parts.workspace.folders if folder not in removed]
    parts.workspace.folders = kept + [folder.uri for folder in event.added]
    await pull_settings(parts)


async def watched_files(parts: Parts, params: types.DidChangeWatchedFilesParams) -> None:
    """Look again at what depends on files that changed on disk."""
    parts.watch.told(path for change in params.changes if (path := file_path(change.uri)) is not None)


async def trust(parts: Parts, params: Any) -> None:
    """Take note of ``stepsmith/trust {trusted}``."""
    await reconfigure.trust(parts, isinstance(params, Mapping) and params.get("trusted") is True)


async def interpreter(parts: Parts, params: Any) -> None:
    """Take note of ``stepsmith/interpreter {folder?, path}``."""
    if isinstance(params, Mapping):
        folder, path = params.get("folder"), params.get("path")
        if all(item is None or isinstance(item, str) for item in (folder, path)):
            await use_interpreter(parts, folder, path)


async def shutdown(parts: Parts, _params: Any) -> None:
    """Leave no process behind; the answer tells that none is left."""
    parts.simulation.cancel()
    await asyncio.get_running_loop().run_in_executor(None, parts.close)
