"""The first step of every handler: the document, its analysis, the offset."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types

from stepcore.ide.analysis import Analysis
from stepcore.text.span import Span
from stepserver.convert import Converter
from stepserver.documents import Module
from stepserver.parts import Parts
from stepserver.positions import Codec


@dataclass(frozen=True, slots=True)
class RequestPlace:
    """A module that is ours, analysed as the client has it now, and what is needed to convert the answer."""

    codec: Codec
    module: Module
    uri: str
    analysis: Analysis
    convert: Converter

    def offset(self, position: types.Position) -> int:
        """Return the offset of a position of the client."""
        return self.module.offset(self.uri, position, self.codec) or 0

    def span(self, area: types.Range) -> Span:
        """Return the span of a range of the client."""
        return self.module.span(self.uri, area, self.codec) or Span(0, 0)

    @property
    def whole(self) -> Span:
        """The span of the whole text document (of one cell, in a notebook)."""
        return self.module.whole(self.uri) or Span(0, 0)


async def place(parts: Parts, uri: str) -> RequestPlace | None:
    """Return the place for a document; None where it is none of ours.

    Neither is a cell of Markdown or of another language, although its notebook is: nothing of the analysis is about it.
    """
    module = parts.documents.module_of(uri)
    if module is None:
        return None
    analysis = await parts.analyses.of(module)
    if analysis.kind == "none" or not module.has(uri):
        return None
    return RequestPlace(parts.workspace.codec, module, uri, analysis, parts.converter(module))
