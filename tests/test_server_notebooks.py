"""Notebooks of any kind in the language server: cells of other languages, cells that leave, odd clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol.converters import get_converter
from lsprotocol.types import DidChangeNotebookDocumentParams, DidOpenNotebookDocumentParams, Position

from lsp_client import Client
from stepcore.text.span import SourceFile, Span
from stepserver.documents import Documents, Text, without_magics
from stepserver.notebooks import Notebooks
from stepserver.positions import Codec

BOOK = "file:///project/book.ipynb"
PROGRAM = """\
import stepcore as step
from stepcore.dims import M


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]
"""
AT = {"line": 0, "character": 5}
ASKED: dict[str, dict[str, Any]] = {
    "textDocument/hover": {"position": AT},
    "textDocument/completion": {"position": AT},
    "textDocument/definition": {"position": AT},
    "textDocument/semanticTokens/full": {},
    "textDocument/foldingRange": {},
    "textDocument/inlayHint": {"range": {"start": AT, "end": {"line": 99, "character": 0}}},
    "textDocument/codeAction": {"range": {"start": AT, "end": AT}, "context": {"diagnostics": []}},
}


def opened(client: Client, *cells: tuple[str, int, str, str]) -> None:
    """Open the notebook with cells: URI, kind (2: code), language, text."""
    documents = [{"uri": uri, "languageId": language, "version": 1, "text": text} for uri, _, language, text in cells]
    book = {"uri": BOOK, "notebookType": "jupyter-notebook", "version": 1}
    book["cells"] = [{"kind": kind, "document": uri} for uri, kind, _, _ in cells]
    client.notify("notebookDocument/didOpen", {"notebookDocument": book, "cellTextDocuments": documents})


def changed(client: Client, cells: dict[str, Any]) -> None:
    client.notify(
        "notebookDocument/didChange", {"notebookDocument": {"uri": BOOK, "version": 2}, "change": {"cells": cells}}
    )


def nothing_of(client: Client, uri: str) -> None:
    """Ask all about a text of which nothing is known: no answer is about another text, and nothing fails."""
    for method, more in ASKED.items():
        assert not client.request(method, {"textDocument": {"uri": uri}, **more}), (method, uri)
    place = {"textDocument": {"uri": uri}, "position": AT, "newName": "x"}
    assert "nothing here" in client.refusal("textDocument/rename", place)["message"]
    assert "Traceback" not in client.stderr(), client.stderr()


def test_cells_of_other_languages_and_cells_that_left_have_no_answers() -> None:
    with Client() as client:
        client.initialize()
        opened(client, ("c:1", 2, "python", PROGRAM), ("c:2", 1, "markdown", "# text"), ("c:3", 2, "julia", "f(x) = x"))
        place = {"textDocument": {"uri": "c:1"}, "position": {"line": 5, "character": 5}}
        assert client.request("textDocument/hover", place)
        assert client.request("textDocument/semanticTokens/full", {"textDocument": {"uri": "c:1"}})["data"]
        for uri in ("c:2", "c:3", "c:none"):
            nothing_of(client, uri)
        assert client.request("textDocument/semanticTokens/full", {"textDocument": {"uri": BOOK}})["data"] == []
        changed(client, {"structure": {"array": {"start": 0, "deleteCount": 1}}})  # its text stays open
        nothing_of(client, "c:1")


def test_a_notebook_that_is_opened_again_or_closed_leaves_nothing() -> None:
    with Client() as client:
        client.initialize()
        opened(client, ("c:1", 2, "python", PROGRAM), ("c:2", 2, "python", "x = 1"))
        opened(client, ("c:1", 2, "python", PROGRAM))
        nothing_of(client, "c:2")
        changed(client, {"structure": {"array": {"start": 0, "deleteCount": 1}}})
        client.notify("notebookDocument/didClose", {"notebookDocument": {"uri": BOOK}, "cellTextDocuments": []})
        nothing_of(client, "c:1")
        assert client.request("stepsmith/status", {})["server"]["documents"] == 0


def test_a_document_may_take_the_name_of_a_notebook() -> None:
    with Client() as client:
        client.initialize()
        opened(client, ("c:1", 2, "python", PROGRAM))
        client.open(BOOK, PROGRAM)
        client.notify("notebookDocument/didClose", {"notebookDocument": {"uri": BOOK}, "cellTextDocuments": []})
        place = {"textDocument": {"uri": BOOK}, "position": {"line": 5, "character": 5}}
        assert client.request("textDocument/hover", place)


def test_paths_that_no_file_system_holds_are_analysed() -> None:
    with Client() as client:
        client.initialize()
        for uri in (f"file:///{'x' * 5_000}.py", f"file:///{'x/' * 2_000}a.py", "file:///a%00b.py"):
            client.open(uri, PROGRAM)
            place = {"textDocument": {"uri": uri}, "position": {"line": 5, "character": 5}}
            assert client.request("textDocument/hover", place), uri
            client.save(uri)
        assert "Traceback" not in client.stderr(), client.stderr()


def test_a_cell_is_read_again_only_where_it_changed() -> None:
    text = Text("c:1", "python", 1, SourceFile("a.ipynb", "%pip list\nx = 1"))
    first = text.as_cell
    assert first == without_magics("%pip list\nx = 1") + "\n"
    assert text.as_cell is first
    text.source = SourceFile("a.ipynb", "x = 2\n")
    assert text.as_cell == "x = 2\n"


def test_requests_of_our_own_are_read_as_strictly_as_those_of_the_protocol() -> None:
    text = f"{PROGRAM}\n\n@step.program()\ndef p(E0: Annotated[step.Stream, step.f32, (M,)]):\n    return E0\n"
    with Client() as client:
        client.initialize()
        client.open("file:///a.py", f"from typing import Annotated\n{text}")
        whole = {"uri": "file:///a.py"}
        assert client.request("stepsmith/graph", {"textDocument": whole, "position": AT})
        spots: list[Any] = [[], "x", {}, {"line": -1, "character": 0}, {"line": 0}, {"line": 0, "character": 2**40}]
        for spot in spots:
            refused = client.refusal("stepsmith/graph", {"textDocument": whole, "position": spot})
            assert "whole numbers" in refused["message"], spot
        documents: list[Any] = [None, [], "x", {"uri": 5}]
        for document in documents:
            for method in ("stepsmith/graph", "stepsmith/timeline"):
                assert client.request(method, {"textDocument": document}) is None
        assert "Traceback" not in client.stderr(), client.stderr()


def test_cells_are_joined_and_looked_through_when_somebody_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 300 changes at once went through all 5,000 cells four times, and each place through all of them."""
    joined = 0
    made: property = vars(Text)["as_cell"]

    def counted(text: Text) -> str:
        nonlocal joined
        joined += 1
        return str(made.__get__(text))

    monkeypatch.setattr(Text, "as_cell", property(counted))
    workspace: Any = SimpleNamespace(codec=Codec("utf-16"))
    documents = Documents(workspace, lambda _module: None, lambda _module: None)
    notebooks = Notebooks(workspace, documents, lambda _uri: None)
    structure = get_converter().structure
    uris = [f"c:{number}" for number in range(100)]
    book = {"uri": BOOK, "notebookType": "jupyter-notebook", "version": 1}
    book["cells"] = [{"kind": 2, "document": uri} for uri in uris]
    texts = [{"uri": uri, "languageId": "python", "version": 1, "text": f"a = {uri[2:]}\n"} for uri in uris]
    notebooks.open(structure({"notebookDocument": book, "cellTextDocuments": texts}, DidOpenNotebookDocumentParams))

    def change(cells: dict[str, Any]) -> None:
        told = {"notebookDocument": {"uri": BOOK, "version": 2}, "change": {"cells": cells}}
        notebooks.change(structure(told, DidChangeNotebookDocumentParams))

    for uri in uris:
        change({"textContent": [{"document": {"uri": uri, "version": 2}, "changes": [{"text": f"b = {uri[2:]}\n"}]}]})
    change({"data": [{"kind": 1, "document": uri} for uri in uris[:10]]})
    change({"data": [{"kind": 2, "document": uris[0]}]})
    assert joined == 0
    (module,) = documents
    text = "".join(f"b = {uri[2:]}\n" for uri in (uris[0], *uris[10:]))
    assert module.source.text == text
    for uri in (uris[0], *uris[10:]):
        place = text.index(f"= {uri[2:]}\n")
        part = module.part(Span(place, place + 1))
        assert part is not None
        assert (part[0].uri, part[1]) == (uri, Span(2, 3))
        assert module.offset(uri, Position(0, 2), workspace.codec) == place
    assert joined == 91
    assert not module.has(uris[1])
    change({"structure": {"array": {"start": 1, "deleteCount": 9}, "didClose": [{"uri": uris[1]}]}})
    change({"textContent": [{"document": {"uri": uris[0], "version": 3}, "changes": [{"text": "c = 1"}]}]})
    assert module.source.text == "c = 1\n" + text[len("b = 0\n") :]
