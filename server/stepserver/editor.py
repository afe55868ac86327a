"""What is sent to the client."""

from __future__ import annotations

from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from stepserver.guard import Reporter
from stepserver.loop import Loop
from stepserver.protocol import Protocol
from stepserver.workspace import Workspace


class Editor:
    """The client as the parts of the server see it."""

    def __init__(self, server: LanguageServer, workspace: Workspace, loop: Loop, reporter: Reporter) -> None:
        assert isinstance(server.protocol, Protocol)
        self._server = server
        self._protocol = server.protocol
        self._workspace = workspace
        self._loop = loop
        self._reporter = reporter
        self._refreshing: set[str] = set()

    def tell(self, method: str, record: Any) -> None:
        """Send one of our own notifications, a record of :mod:`stepcore.jobdata.editor`."""
        from stepcore.jobdata.plain import written  # here, because `initialize` must not wait for it

        self._protocol.tell(method, written(record))

    async def ask(self, method: str, params: Any) -> Any:
        """Send a request and return the client's answer; None where it refuses."""
        return await self._protocol.ask(method, params)

    def warn(self, problem: str) -> None:
        """Show a message to the user."""
        params = types.ShowMessageParams(types.MessageType.Warning, f"Stepsmith: {problem}")
        self._server.window_show_message(params)

    def publish(self, uri: str, items: list[types.Diagnostic], version: int | None) -> None:
        """Push the findings of a text."""
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, items, version))

    def refresh(self, method: str) -> None:
        """Have the client ask again, if it can; requests in one turn of the loop are one."""
        if method in self._workspace.client.refreshes and method not in self._refreshing:
            self._refreshing.add(method)
            self._loop.soon(self._refresh, method)

    def _refresh(self, method: str) -> None:
        self._refreshing.discard(method)
        self._reporter.start(method, self.ask(method, None))
