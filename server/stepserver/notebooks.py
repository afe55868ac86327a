"""Notebooks: the code cells of one are a module; findings and answers go back to the cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lsprotocol import types

from stepcore.text.span import SourceFile
from stepserver.documents import Documents, Module, Text, path_of
from stepserver.workspace import Workspace


@dataclass(slots=True)
class _Notebook:
    module: Module
    cells: list[types.NotebookCell] = field(default_factory=list)


class Notebooks:
    """The open notebooks. ``dropped`` is called with the URI of a cell that is gone while its notebook is open."""

    def __init__(self, workspace: Workspace, documents: Documents, dropped: Callable[[str], None]) -> None:
        self._workspace = workspace
        self._documents = documents
        self._dropped = dropped
        self._open: dict[str, _Notebook] = {}

    def open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take over a notebook with its cells; one that was open is replaced."""
        uri = params.notebook_document.uri
        self.close(uri)
        path = path_of(uri, "")
        module = Module(uri, path if path.endswith(".ipynb") else path + ".ipynb", [], is_notebook=True)
        notebook = self._open[uri] = _Notebook(module, list(params.notebook_document.cells))
        for item in params.cell_text_documents:
            self._own(module, item)
        self._arrange(notebook)
        self._documents.add(module)

    def change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Apply what changed: cells that come, go or become text, and edits in them."""
        notebook = self._open.get(params.notebook_document.uri)
        cells = params.change.cells
        if notebook is None or cells is None:
            return
        documents = self._documents
        if cells.structure is not None:
            array = cells.structure.array
            notebook.cells[array.start : array.start + array.delete_count] = array.cells or []
            for item in cells.structure.did_open or []:
                self._own(notebook.module, item)
            for gone in cells.structure.did_close or []:
                documents.drop(gone.uri)
                self._dropped(gone.uri)
        if cells.data:
            changed = {cell.document: cell for cell in cells.data}
            notebook.cells = [changed.get(cell.document, cell) for cell in notebook.cells]
        for edit in cells.text_content or []:
            text = documents.texts.get(edit.document.uri)
            if text is not None:
                text.change(self._workspace.codec, edit.changes)
                text.version = edit.document.version
        if cells.structure is not None or cells.data:
            self._arrange(notebook)
        documents.renew(notebook.module)

    def close(self, uri: str) -> None:
        """Give a notebook back."""
        notebook = self._open.pop(uri, None)
        if notebook is None:
            return
        self._documents.drop_all(notebook.module)
        self._documents.remove(notebook.module)

    def _own(self, module: Module, item: types.TextDocumentItem) -> None:
        text = Text(item.uri, item.language_id, item.version, SourceFile(module.path, item.text))
        self._documents.own(text, module)

    def _arrange(self, notebook: _Notebook) -> None:
        """Put the texts of the code cells in the order of the notebook."""
        texts = self._documents.texts
        code = (cell.document for cell in notebook.cells if cell.kind == types.NotebookCellKind.Code)
        found = [texts[uri] for uri in code if uri in texts]
        notebook.module.texts = [text for text in found if text.language in ("", "python")]
