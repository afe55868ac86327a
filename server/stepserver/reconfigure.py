"""What follows when the client changes settings, trust or the interpreter."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from stepserver.parts import Parts
from stepserver.settings import SECTION, Settings, read_settings


async def pull_settings(parts: Parts) -> None:
    """Ask the client for its settings, for each folder."""
    workspace = parts.workspace
    if not workspace.client.configuration:
        return
    scopes: list[str | None] = [None, *workspace.folders]
    items = [types.ConfigurationItem(scope_uri=scope, section=SECTION) for scope in scopes]
    found = await parts.editor.ask(types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items))
    if isinstance(found, list | tuple) and len(found) == len(scopes):
        window, *folders = [read_settings(section) for section in found]
        await apply(parts, window, dict(zip(workspace.folders, folders, strict=True)))


async def apply(parts: Parts, settings: Settings, folders: dict[str, Settings]) -> None:
    """Let new settings hold."""
    before, had_hints = _workers_wanted(parts), parts.workspace.settings.inlay_hints
    if not parts.workspace.use_settings(settings, folders):
        return
    if before != _workers_wanted(parts):  # other settings must neither end a run nor cost a warm worker
        await restart_workers(parts)
    parts.renew()
    if had_hints != settings.inlay_hints:
        parts.editor.refresh(types.WORKSPACE_INLAY_HINT_REFRESH)
    parts.editor.refresh(types.WORKSPACE_CODE_LENS_REFRESH)


async def trust(parts: Parts, is_trusted: bool) -> None:
    """Let simulation begin, or end it."""
    if is_trusted != parts.workspace.is_trusted:
        parts.workspace.is_trusted = is_trusted
        if not is_trusted:
            parts.simulation.cancel()
            if parts.has("timers"):
                await parts.timers.reset()
        await restart_workers(parts)
        if is_trusted or parts.has("timing"):
            parts.timing.look_again()


async def use_interpreter(parts: Parts, folder: str | None, path: str | None) -> None:
    """Let programs of a folder (None: of all) be simulated by another Python."""
    before = _workers_wanted(parts)
    parts.workspace.use_interpreter(folder, path)
    if before != _workers_wanted(parts):
        await restart_workers(parts)


async def restart_workers(parts: Parts) -> None:
    """End all workers and start those that are needed."""
    await parts.simulators.reset()
    if parts.has("writing"):
        await parts.writing.reset()
    if parts.has("optimizing"):
        await parts.optimizing.reset()
    for module in parts.documents:
        analysis = parts.analyses.newest(module)
        if analysis is not None:
            parts.simulation.on_analysis(module, analysis)
    parts.editor.refresh(types.WORKSPACE_CODE_LENS_REFRESH)


def _workers_wanted(parts: Parts) -> list[tuple[Any, ...]]:
    return [(module, *parts.workspace.workers_wanted(module.uri)) for module in parts.documents]
