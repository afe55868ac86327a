"""The texts that the client has open, kept equal to the client's edit by edit.

A :class:`Text` is one text document of the protocol; a :class:`Module` is what is analysed: one text, or the code
cells of a notebook, joined. Lines end at ``\\n``, ``\\r\\n`` and ``\\r``, as the protocol says, and nowhere else.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePath
from typing import Final, NamedTuple

from lsprotocol import types

from stepcore.text.files import MAX_BYTES, MAX_LINES
from stepcore.text.span import SourceFile, Span
from stepserver.paths import file_path
from stepserver.positions import Codec
from stepserver.workspace import Workspace

log = logging.getLogger(__name__)

_SUFFIXES: Final = {"python": ".py", "yaml": ".step.yaml"}


@dataclass(slots=True)
class Text:
    """One open text document. ``version`` is the client's."""

    uri: str
    language: str
    version: int | None
    source: SourceFile
    _joined: tuple[SourceFile, str] | None = None  # what a cell is in its module, and of which source

    @property
    def as_cell(self) -> str:
        """The text as a part of a notebook's module; made once, because an edit leaves all other cells alone."""
        if self._joined is None or self._joined[0] is not self.source:
            piece = without_magics(self.source.text)
            self._joined = self.source, piece + ("" if piece.endswith(("\n", "\r")) else "\n")
        return self._joined[1]

    def change(self, codec: Codec, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        """Apply edits, each to the result of the one before."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangeWholeDocument):
                text = change.text
            else:
                start = codec.offset(self.source, change.range.start)
                end = max(start, codec.offset(self.source, change.range.end))
                old = self.source.text
                text = old[:start] + change.text + old[end:]
            self.source = SourceFile(self.source.path, text)


class _Joined(NamedTuple):
    """The texts of a module as one, where each begins in it, and which of them has a URI: as of one revision."""

    revision: int
    source: SourceFile
    starts: list[int]
    numbers: dict[str, int]


@dataclass(slots=True)
class Module:
    """What is analysed as one file. ``revision`` grows with every change of the text, unlike versions of clients.

    The cells of a notebook are joined when somebody reads them: a client may send hundreds of changes at once.
    """

    uri: str
    path: str
    texts: list[Text]
    revision: int = 0
    is_notebook: bool = False
    _joined: _Joined | None = None

    @property
    def source(self) -> SourceFile:
        """What is analysed."""
        return self._whole.source

    @property
    def starts(self) -> list[int]:
        """Where each text begins in ``source``."""
        return self._whole.starts

    @property
    def version(self) -> int | None:
        """The client's version of a document; None for a notebook."""
        return None if self.is_notebook or not self.texts else self.texts[0].version

    @property
    def is_file(self) -> bool:
        """True where the client has it on a disk."""
        return self.uri.startswith("file:")

    @property
    def is_large(self) -> bool:
        """True beyond the limits of what is analysed unasked."""
        return len(self.source.text) > MAX_BYTES or len(self.source.line_starts) > MAX_LINES

    def renew(self) -> None:
        """Take note of changed texts."""
        self.revision += 1

    @property
    def _whole(self) -> _Joined:
        # The revision is read first: what another thread joins while texts change is of a revision that has passed.
        known, revision = self._joined, self.revision
        if known is None or known.revision != revision:
            known = self._joined = self._join(revision)
        return known

    def _join(self, revision: int) -> _Joined:
        texts = list(self.texts)
        numbers = {text.uri: number for number, text in reversed([*enumerate(texts)])}
        if not self.is_notebook:
            return _Joined(revision, texts[0].source, [0], numbers)
        pieces = [text.as_cell for text in texts]
        starts = list(accumulate(map(len, pieces), initial=0))[: len(pieces)]
        return _Joined(revision, SourceFile(self.path, "".join(pieces)), starts, numbers)

    def has(self, uri: str) -> bool:
        """Return whether ``uri`` names the module or a text of it: cells of other languages are none."""
        return uri == self.uri or uri in self._whole.numbers

    def offset(self, uri: str, position: types.Position, codec: Codec) -> int | None:
        """Return the place of a position in ``source``; None where the module has no such text."""
        number = self._whole.numbers.get(uri)
        return None if number is None else self.starts[number] + codec.offset(self.texts[number].source, position)

    def span(self, uri: str, area: types.Range, codec: Codec) -> Span | None:
        """Return the place of a range in ``source``."""
        start, end = self.offset(uri, area.start, codec), self.offset(uri, area.end, codec)
        return None if start is None or end is None else Span(start, max(start, end))

    def whole(self, uri: str) -> Span | None:
        """Return the place of a whole text in ``source``."""
        number = self._whole.numbers.get(uri)
        if number is None:
            return None
        start = self.starts[number]
        return Span(start, start + len(self.texts[number].source.text))

    def locate(self, span: Span, codec: Codec) -> tuple[Text, types.Range] | None:
        """Return the text that ``span`` starts in, and its range there."""
        found = self.part(span)
        return None if found is None else (found[0], codec.range(found[0].source, found[1]))

    def part(self, span: Span) -> tuple[Text, Span] | None:
        """Return the text that ``span`` starts in, and what of it lies there."""
        if not self.texts:
            return None
        if not self.is_notebook:
            return self.texts[0], span
        starts = self.starts
        index = max(bisect_right(starts, span.start) - 1, 0)
        text, start = self.texts[index], starts[index]
        return text, Span(span.start - start, min(span.end - start, len(text.source.text)))


def without_magics(text: str) -> str:
    """Return a notebook cell of equal length in which the lines that are no Python are comments."""
    is_foreign = text.lstrip().startswith("%%")
    lines = SourceFile("", text)
    pieces = []
    for number in range(len(lines.line_starts)):
        line = lines.line_text(number)
        first = len(line) - len(line.lstrip(" \t"))
        if line[first : first + 1] in ("%", "!") or (is_foreign and line[first:].rstrip("\r\n")):
            line = line[:first] + "#" + line[first + 1 :]
        pieces.append(line)
    return "".join(pieces)


def path_of(uri: str, language: str) -> str:
    """Return the path of a document; one that was never saved gets the suffix of its language."""
    if uri.startswith("file:"):
        return file_path(uri) or uri
    name = uri.partition(":")[2] or uri
    suffix = _SUFFIXES.get(language, "")
    return name if name.endswith(suffix) else name + suffix


class Documents:
    """All open texts and modules. ``changed`` is called with each module whose text changed, ``closed`` at its end."""

    def __init__(
        self, workspace: Workspace, changed: Callable[[Module], None], closed: Callable[[Module], None]
    ) -> None:
        self._workspace = workspace
        self._changed = changed
        self._closed = closed
        self.texts: dict[str, Text] = {}
        self.modules: dict[str, Module] = {}
        self._owners: dict[str, Module] = {}  # by the URI of a text
        self._told: set[str] = set()

    def __iter__(self) -> Iterator[Module]:
        return iter(list(self.modules.values()))

    def module_of(self, uri: str) -> Module | None:
        """Return the module that a text belongs to, or that is called ``uri`` itself."""
        return self._owners.get(uri) or self.modules.get(uri)

    def is_open(self, module: Module) -> bool:
        """Return whether ``module`` is neither closed nor replaced."""
        return self.modules.get(module.uri) is module

    def add(self, module: Module) -> None:
        """Take over a module whose texts are there."""
        self.modules[module.uri] = module
        for text in module.texts:
            self.own(text, module)
        self.renew(module)

    def own(self, text: Text, module: Module) -> None:
        """Note that ``text`` belongs to ``module``."""
        self.texts[text.uri] = text
        self._owners[text.uri] = module

    def drop(self, uri: str) -> None:
        """Forget a text."""
        self.texts.pop(uri, None)
        self._owners.pop(uri, None)

    def drop_all(self, module: Module) -> None:
        """Forget all texts of a module, cells that are none of its texts included."""
        for uri in [uri for uri, owner in self._owners.items() if owner is module]:
            self.drop(uri)

    def renew(self, module: Module) -> None:
        """Take note of a change of ``module``."""
        module.renew()
        self._changed(module)

    def open(self, item: types.TextDocumentItem) -> None:
        """Take over a document; one that was open is replaced. Cells come with their notebooks."""
        path = path_of(item.uri, item.language_id)
        text = Text(item.uri, item.language_id, item.version, SourceFile(path, item.text))
        known = self._owners.get(item.uri)
        if known is not None and known.is_notebook:
            return
        revision = 0 if known is None else known.revision
        self.add(Module(item.uri, path, [text], revision))

    def change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Apply edits of a document."""
        identifier = params.text_document
        text, module = self.texts.get(identifier.uri), self._owners.get(identifier.uri)
        if text is None or module is None:
            self._warn(identifier.uri, "was changed but never opened; the change is ignored")
            return
        if text.version is not None and identifier.version <= text.version:
            self._warn(identifier.uri, f"went from version {text.version} to {identifier.version}")
        text.change(self._workspace.codec, params.content_changes)
        text.version = identifier.version
        self.renew(module)

    def close(self, uri: str) -> None:
        """Give a document back."""
        module = self._owners.get(uri)
        if module is None or module.is_notebook:
            return
        self.drop(uri)
        self.remove(module)

    def remove(self, module: Module) -> None:
        """Forget a module."""
        if self.is_open(module):  # and not another document that has taken its URI
            del self.modules[module.uri]
            self._closed(module)

    def where(self, wanted: Callable[[Module], bool]) -> list[Module]:
        """Return the modules that ``wanted`` holds for."""
        return [module for module in self if wanted(module)]

    def _warn(self, uri: str, text: str) -> None:
        if uri not in self._told:  # once for each document
            self._told.add(uri)
            log.warning("%s %s", PurePath(uri).name, text)
