"""A storm: what a client does, drawn from a seed, and what must hold while it rages and when it is over.

Afterwards the server shows of every document what a fresh server shows that opened the last texts. Nothing here depends
on the clock: the client goes on once few of its requests are without an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

from lsp_client import PULL, PUSH, Client
from processes import descendants

from .documents import HELPER, Document, Notebook
from .edits import change, within
from .requests import command, request

WAITING: Final = 12  # requests without an answer, at most
_CANCELLED: Final = -32800
# What a request may be refused with: it was cancelled, there is nothing to rename, nobody knows the method.
REFUSALS: Final = frozenset({_CANCELLED, -32803, -32601, -32602})
MOST_PROCESSES: Final = 16
SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    {}, {"simulation": {"run": "off"}}, {"simulation": {"run": "onDemand"}}, {"timing": {"enabled": False}},
    {"affine": "paper"}, {"inlayHints": {"enabled": False}}, {"simulation.seconds": "many"}, {"timing.hw": "chip.toml"},
)  # fmt: skip


class Storm:
    """One client and its documents. ``steps`` of what it does are drawn from ``seed``."""

    def __init__(self, client: Client, folder: Path, seed: int, texts: list[Document], book: Notebook) -> None:
        self.client = client
        self.rng = Random(seed)
        self.documents = texts
        self.book = book
        self.helper = folder / HELPER
        self.folder = folder
        self.pending: dict[int, str] = {}
        self.shown: dict[str, list[dict[str, Any]]] = {}
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.done: set[str] = set()
        self.most_processes = 0

    def start(self, trusted: bool = True) -> None:
        """Begin the session, with abilities of a client that the seed decides."""
        encoding = self.rng.choice(("utf-16", "utf-16", "utf-8", "utf-32"))
        abilities = self.rng.choice((PUSH, PULL))
        options = self.rng.choice(({}, {"client": {"name": "storm"}}))
        self.client.answers["workspace/applyEdit"] = {"applied": False}
        self.client.initialize(abilities, trusted=trusted, folder=self.folder, encodings=[encoding], **options)

    # -- what a client does -----------------------------------------------------------------------------------

    def rage(self, steps: int) -> None:
        """Do so much, and await all answers."""
        doing: list[tuple[Callable[[], None], int]] = [
            (self.edit, 40), (self.ask, 30), (self.order, 5), (self.save, 7), (self.open_or_close, 5),
            (self.restore, 5), (self.move, 2), (self.delete, 1), (self.write_helper, 2), (self.set, 1),
            (self.change_book, 4), (self.distrust, 1),
        ]  # fmt: skip
        actions, weights = zip(*doing, strict=True)
        for number in range(steps):
            (action,) = self.rng.choices(actions, weights)
            self.done.add(action.__name__)
            action()
            if number % 20 == 0:
                self.most_processes = max(self.most_processes, len(descendants(self.client.process.pid)))
                assert self.most_processes <= MOST_PROCESSES
            self.await_answers(WAITING)
        self.await_answers(0)

    def open_documents(self) -> list[Document]:
        """Return the open documents, cells too."""
        cells = self.book.cells if self.book.is_open else []
        return [document for document in [*self.documents, *cells] if document.is_open]

    def _any(self) -> Document | None:
        found = self.open_documents()
        return self.rng.choice(found) if found else None

    def edit(self) -> None:
        """Send up to three changes of an open document."""
        document = self._any()
        if document is None:
            return
        text, changes = document.text, []
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            text, one = change(self.rng, text, self.client.encoding)
            changes.append(one)
        self._changed(document, text, changes)

    def restore(self) -> None:
        """Let a document be as it was at first, so that its programs can run again."""
        document = self._any()
        if document is not None:
            self._changed(document, document.pristine, [{"text": document.pristine}])

    def _changed(self, document: Document, text: str, changes: list[dict[str, Any]]) -> None:
        document.renew(text)
        if document not in self.book.cells:
            self.client.change(document.uri, document.version, *changes)
            return
        self.book.version += 1
        item = {"document": {"uri": document.uri, "version": document.version}, "changes": changes}
        self._book_changed({"textContent": [item]})

    def ask(self) -> None:
        """Send a request about a document that may not be open, and take some back."""
        document = self.rng.choice([*self.documents, *self.book.cells])
        method, params = request(self.rng, document.text, document.uri, self.client.encoding)
        self._send(method, params)

    def order(self) -> None:
        """Send one of our commands."""
        document = self.rng.choice([*self.documents, *self.book.cells])
        self._send("workspace/executeCommand", command(self.rng, document.text, document.uri))

    def _send(self, method: str, params: Any) -> None:
        number = self.client.start_request(method, params)
        self.pending[number] = method
        if self.rng.random() < 0.3:
            number = self.rng.choice((number, number, self.rng.randrange(number + 5)))
            self.client.notify("$/cancelRequest", {"id": number})

    def save(self) -> None:
        """Save a document; now and then the disk has another text than the server."""
        document = self._any()
        if document is None:
            return
        if document.path is not None and self.rng.random() < 0.9:
            document.path.write_bytes(document.text.encode("utf-8", "surrogatepass"))
        self.client.save(document.uri)

    def open_or_close(self) -> None:
        """Open a closed document, close an open one; the notebook, too."""
        document = self.rng.choice([*self.documents, None])
        if document is None:
            self._toggle_book()
        elif document.is_open:
            self._close(document)
        else:
            self.client.notify("textDocument/didOpen", {"textDocument": document.item()})

    def _close(self, document: Document) -> None:
        document.is_open = False
        self.rows.pop(document.uri, None)
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})

    def move(self) -> None:
        """Rename a file on disk, as an editor tells it: closed here, opened there, or not told at all."""
        document = self.rng.choice([each for each in self.documents if each.path is not None])
        was_open, old = document.is_open, document.path
        assert old is not None
        new = old.with_name(f"moved{self.rng.randrange(10**6)}{old.name[old.name.index('.') :]}")
        if old.exists():
            old.rename(new)
        if was_open:
            self._close(document)
        document.path, document.uri = new, new.as_uri()
        if was_open:
            self.client.notify("textDocument/didOpen", {"textDocument": document.item()})
        self._tell_of(old, 3)
        self._tell_of(new, 1)

    def delete(self) -> None:
        """Remove a file on disk; the document stays open."""
        document = self.rng.choice([each for each in self.documents if each.path is not None])
        assert document.path is not None
        document.path.unlink(missing_ok=True)
        self._tell_of(document.path, 3)

    def write_helper(self) -> None:
        """Write the file that a program imports."""
        self.helper.write_text(self.rng.choice(("FACTOR = 2\n", "FACTOR = 3\n", "FACTOR = (\n", "")))
        self._tell_of(self.helper, 2)

    def _tell_of(self, path: Path, kind: int) -> None:
        if self.rng.random() < 0.7:
            self.client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": kind}]})

    def set(self) -> None:
        """Change the settings."""
        self._set(self.rng.choice(SETTINGS))

    def _set(self, settings: object) -> None:
        self.client.notify("workspace/didChangeConfiguration", {"settings": {"stepsmith": settings}})

    def distrust(self) -> None:
        """Take trust away; it comes back with the next ask of the same kind, or at the end."""
        self._trust(self.rng.random() < 0.7)

    def _trust(self, trusted: bool) -> None:
        self.client.notify("stepsmith/trust", {"trusted": trusted})

    # -- the notebook -----------------------------------------------------------------------------------------

    def _toggle_book(self) -> None:
        if not self.book.is_open:
            self.client.notify("notebookDocument/didOpen", self.book.opened())
            return
        self.book.is_open = False
        cells = [{"uri": cell.uri} for cell in self.book.cells]
        book = {"notebookDocument": {"uri": self.book.uri}, "cellTextDocuments": cells}
        self.client.notify("notebookDocument/didClose", book)
        self.book.refill()

    def change_book(self) -> None:
        """Insert, remove or move cells."""
        if not self.book.is_open:
            return
        cells = self.book.cells
        start = self.rng.randint(0, len(cells))
        count = self.rng.choice((0, 0, 1)) if start < len(cells) else 0
        new = [self.book.cell(self.rng.choice(("x = 1", "", *(cell.pristine for cell in cells))))]
        new *= self.rng.choice((0, 1, 1))
        gone, cells[start : start + count] = cells[start : start + count], new
        array = {"start": start, "deleteCount": count, "cells": [{"kind": 2, "document": cell.uri} for cell in new]}
        structure = {
            "array": array,
            "didOpen": [cell.item() for cell in new],
            "didClose": [{"uri": cell.uri} for cell in gone],
        }
        self._book_changed({"structure": structure})

    def _book_changed(self, cells: dict[str, Any]) -> None:
        self.book.version += 1
        book = {"uri": self.book.uri, "version": self.book.version}
        self.client.notify("notebookDocument/didChange", {"notebookDocument": book, "change": {"cells": cells}})

    # -- what the server says ---------------------------------------------------------------------------------

    def await_answers(self, left: int) -> None:
        """Read what the server says until at most so many requests are without an answer."""
        while len(self.pending) > left:
            self.client.wait(self.hear)
            self.client.received.clear()

    def hear(self, message: dict[str, Any]) -> bool:
        """Take note of a message; whether it answers a request."""
        params: Any = message.get("params")
        match message.get("method"):
            case "textDocument/publishDiagnostics":
                self._hear_findings(params)
            case "stepsmith/simulation":
                self._hear_programs(params)
            case "window/logMessage":
                assert "Please report" not in params["message"], params["message"]
            case None:
                method = self.pending.pop(message["id"])
                error = message.get("error")
                assert error is None or error["code"] in REFUSALS, (method, error)
                return True
        return False

    def _hear_programs(self, params: dict[str, Any]) -> None:
        for document in self.documents:  # what was said of a text before it was closed is no more of interest
            if document.uri == params["uri"] and document.is_open and params["version"] >= document.opened:
                self.rows[document.uri] = params["programs"]

    def _hear_findings(self, params: dict[str, Any]) -> None:
        self.shown[params["uri"]] = params["diagnostics"]
        document = next((each for each in [*self.documents, *self.book.cells] if each.uri == params["uri"]), None)
        if document is not None and (text := document.texts.get(params.get("version", 0))) is not None:
            for item in params["diagnostics"]:
                assert within(text, item["range"], self.client.encoding), (item, text)

    def calm(self) -> None:
        """End what goes on, and let the settings be those of the start."""
        for name in ("cancel", "stopWriting", "stopOptimizing"):
            self.request("workspace/executeCommand", {"command": f"stepsmith.server.{name}", "arguments": [{}]})
        self._set({})
        self._trust(True)

    def request(self, method: str, params: Any) -> Any:
        """Send a request and return its result, None where it is refused."""
        number = self.client.start_request(method, params)
        self.pending[number] = method
        while True:
            answer = self.client.wait(self.hear)
            self.client.received.clear()
            if answer["id"] == number:
                return answer.get("result")
