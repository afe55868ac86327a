"""What holds for the connection: the client's abilities, its folders and settings, and whether it is trusted."""

from __future__ import annotations

import sys
from typing import Any

from lsprotocol import types

from stepserver.client import Client, options_of, read_client
from stepserver.positions import Codec
from stepserver.settings import Settings, read_settings, tightened


class Workspace:
    """Read from ``initialize``, and changed by the client's notifications. Documents are named by their URIs."""

    def __init__(self) -> None:
        self.client = Client()
        self.codec = Codec()
        self.is_trusted = False
        self.settings = Settings()
        self.folders: list[str] = []
        self._folder_settings: dict[str, Settings] = {}
        self._interpreters: dict[str, str | None] = {}  # by folder; "" for all others

    def initialize(self, params: types.InitializeParams) -> None:
        """Read what the client can do and wants."""
        from pygls.capabilities import ServerCapabilitiesBuilder

        options = options_of(params)
        self.client = read_client(params)
        encoding = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        self.codec = Codec(str(getattr(encoding, "value", encoding)))
        self.is_trusted = options.get("trusted") is True
        self.settings = read_settings(options.get("settings"))
        interpreter = options.get("interpreter")
        self.use_interpreter(None, interpreter if isinstance(interpreter, str) else None)
        self.folders = [folder.uri for folder in params.workspace_folders or []]

    def settings_of(self, uri: str) -> Settings:
        """Return the settings of a document: of its folder, else of the whole window."""
        return self._folder_settings.get(self.folder_of(uri), self.settings)

    def is_timed(self, uri: str) -> bool:
        """Return whether programs of a document are timed: those of a trusted workspace, unless it is switched off."""
        return self.is_trusted and self.settings_of(uri).timing

    def interpreter_of(self, uri: str) -> str:
        """Return the Python in which a document is simulated: the server's own where nobody chose one.

        Our extension reads the setting itself, because its values may be names that only it understands.
        """
        own = None if self.client.is_ours else self.settings_of(uri).interpreter
        chosen = own or self._interpreters.get(self.folder_of(uri)) or self._interpreters.get("")
        return chosen or sys.executable

    def folder_of(self, uri: str) -> str:
        """Return the innermost folder of the workspace that holds a document, "" for one that lies outside."""
        inside = (folder for folder in self.folders if uri == folder or uri.startswith(folder.rstrip("/") + "/"))
        return max(inside, key=len, default="")

    def use_settings(self, window: Settings, folders: dict[str, Settings]) -> bool:
        """Take over new settings; returns whether they differ."""
        folders = {folder: tightened(own, window) for folder, own in folders.items()}
        if (self.settings, self._folder_settings) == (window, folders):
            return False
        self.settings, self._folder_settings = window, folders
        return True

    def use_interpreter(self, folder: str | None, path: str | None) -> None:
        """Let programs of a folder (None: of all) be simulated by another Python."""
        self._interpreters[folder or ""] = path or None

    def workers_wanted(self, uri: str) -> tuple[Any, ...]:
        """Return what decides about the worker of a document: its Python, its memory and network, and when it runs."""
        own = self.settings_of(uri)
        return self.interpreter_of(uri), own.memory, own.network, own.run
