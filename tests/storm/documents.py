"""The documents of a storm: files with programs, tasks and answers, a helper that runs read, a notebook, a draft."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from server_texts import FIXED, GOOD, HEAD, IMPL, OVERUSED, TASK

_WRONG: Final = GOOD.replace("def good", "def wrong").replace("reference=doubled", "reference=quadrupled")
_READS: Final = HEAD.replace("import torch\n", "import torch\nfrom helper import FACTOR\n", 1)
_READING: Final = _READS.replace("return x * 2", "return x * FACTOR")
_RAISES: Final = HEAD.replace("    return x * 4", "    raise ValueError('é😀')")
_DRAWN: Final = f"# 語 😀\n{HEAD}{GOOD}{FIXED}".replace("\n", "\r\n")
_CELLS: Final = (HEAD, "%matplotlib inline\n", GOOD, f"# 😀\n{FIXED}", "print('é')")
HELPER: Final = "helper.py"
FILES: Final = {
    "first.py": HEAD + GOOD + OVERUSED,
    "drawn.py": _DRAWN,
    "reading.py": _READING + GOOD + _WRONG,
    "raising.py": _RAISES + GOOD + _WRONG,
    "whole.step.yaml": TASK + IMPL,
    "parted.step.yaml": TASK.replace("\n", "\r\n"),
    "parted.impl.yaml": IMPL,
    "chip.toml": 'name = "storm"\n[flops]\nsilu = 4\n',
    HELPER: "FACTOR = 2\n",
}


@dataclass
class Document:
    """A text that the client may have open, as ``opened`` at first since it was closed last.

    ``texts`` are those of all versions that the server was told.
    """

    uri: str
    language: str
    text: str
    pristine: str
    path: Path | None = None
    version: int = 0
    is_open: bool = False
    opened: int = 0
    texts: dict[int, str] = field(default_factory=dict)

    def item(self) -> dict[str, Any]:
        """Return what is told of an opened document, as its next version."""
        self.is_open = True
        self.renew(self.text)
        self.opened = self.version
        return {"uri": self.uri, "languageId": self.language, "version": self.version, "text": self.text}

    def renew(self, text: str) -> None:
        """Take over a text as the next version."""
        self.text = text
        self.version += 1
        self.texts[self.version] = text


def documents(folder: Path) -> list[Document]:
    """Write the files and return what can be opened."""
    found = []
    for name, text in FILES.items():
        path = folder / name
        path.write_bytes(text.encode())
        language = {".py": "python", ".yaml": "yaml"}.get(path.suffix, "toml")
        found.append(Document(path.as_uri(), language, text, text, path))
    draft = HEAD + OVERUSED
    return [*found, Document("untitled:Untitled-1", "python", draft, draft)]


@dataclass
class Notebook:
    """A notebook of cells; each has a URI that no cell had before."""

    uri: str
    cells: list[Document] = field(default_factory=list)
    made: int = 0
    version: int = 0
    is_open: bool = False

    def cell(self, text: str) -> Document:
        """Return a new cell."""
        self.made += 1
        return Document(f"notebook-cell:{self.made}#{self.uri}", "python", text, text)

    def refill(self) -> None:
        """Have the cells of the start again, as others."""
        self.cells = [self.cell(text) for text in _CELLS]

    def opened(self) -> dict[str, Any]:
        """Return what is told of the opened notebook."""
        self.is_open = True
        self.version += 1
        items = [cell.item() for cell in self.cells]
        cells = [{"kind": 2, "document": cell.uri} for cell in self.cells]
        book = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": self.version, "cells": cells}
        return {"notebookDocument": book, "cellTextDocuments": items}
