"""From the plain data of :mod:`stepcore.ide` to the types of the protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from lsprotocol import types

from stepcore.findings.diagnostics import Diagnostic, Edit, Severity
from stepcore.ide.marked import unmarked_words
from stepcore.ide.model import (
    LANGUAGE,
    Action,
    CallSignature,
    Completion,
    Folding,
    Hover,
    InlayHint,
    Kind,
    Symbol,
    Token,
)
from stepcore.text.span import Span
from stepserver.legend import MODIFIERS, token_type

if TYPE_CHECKING:
    from stepserver.documents import Module, Text
    from stepserver.workspace import Workspace

SOURCE: Final = "stepsmith"
_SEVERITIES: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}
_SNIPPET: Final = types.InsertTextFormat.Snippet.value
_TEXT: Final = types.InsertTextFormat.PlainText.value
_ITEMS: Final = {
    Kind.OPERATOR: types.CompletionItemKind.Class.value,
    Kind.FUNCTION: types.CompletionItemKind.Function.value,
    Kind.HELPER: types.CompletionItemKind.Function.value,
    Kind.STREAM: types.CompletionItemKind.Variable.value,
    Kind.PARAMETER: types.CompletionItemKind.Field.value,
    Kind.WEIGHT: types.CompletionItemKind.Property.value,
    Kind.SIZE: types.CompletionItemKind.TypeParameter.value,
    Kind.TYPE: types.CompletionItemKind.Struct.value,
    Kind.VARIABLE: types.CompletionItemKind.Variable.value,
    Kind.MODULE: types.CompletionItemKind.Module.value,
    Kind.KEY: types.CompletionItemKind.Property.value,
    Kind.VALUE: types.CompletionItemKind.Value.value,
    Kind.PROGRAM: types.CompletionItemKind.Function.value,
    Kind.SNIPPET: types.CompletionItemKind.Snippet.value,
    Kind.OUTPUT: types.CompletionItemKind.Variable.value,
}
_SYMBOLS: Final = {
    Kind.OPERATOR: types.SymbolKind.Class,
    Kind.FUNCTION: types.SymbolKind.Function,
    Kind.HELPER: types.SymbolKind.Function,
    Kind.STREAM: types.SymbolKind.Variable,
    Kind.PARAMETER: types.SymbolKind.Field,
    Kind.WEIGHT: types.SymbolKind.Property,
    Kind.SIZE: types.SymbolKind.TypeParameter,
    Kind.TYPE: types.SymbolKind.Struct,
    Kind.VARIABLE: types.SymbolKind.Variable,
    Kind.MODULE: types.SymbolKind.Module,
    Kind.KEY: types.SymbolKind.Key,
    Kind.VALUE: types.SymbolKind.Constant,
    Kind.PROGRAM: types.SymbolKind.Method,
    Kind.SNIPPET: types.SymbolKind.String,
    Kind.OUTPUT: types.SymbolKind.Variable,
}


@lru_cache
def explanation_uri(code: str) -> str | None:
    """Return where a code is explained: a file that comes with the program."""
    import stepcore.findings.explain

    page = Path(stepcore.findings.explain.__file__).with_name(f"{code}.md")
    return page.as_uri() if page.is_file() else None


def explanation(code: str, *, rendered: bool) -> str | None:
    """Return what a click on a code opens: a command of our extension that shows the page ``rendered``, or the file."""
    page = explanation_uri(code)
    return _opened(code, page) if page is not None and rendered else page


def _opened(name: str, page: str) -> str:
    return f"command:stepsmith.explain?{quote(json.dumps([name, page]))}"


def section(anchor: str, *, rendered: bool) -> str:
    """Return what a click on a rule opens: a section of the language page, as :func:`explanation` opens a page."""
    import stepcore.findings.explain

    page = (Path(stepcore.findings.explain.__file__).parents[1] / stepcore.findings.explain.LANGUAGE).as_uri()
    return _opened(anchor, page) if rendered else f"{page}#{anchor}"


_SECTION: Final = re.compile(rf"\[([^\]]+)\]\({LANGUAGE}([\w-]+)\)")


def markdown(text: str) -> types.MarkupContent:
    """Return Markdown."""
    return types.MarkupContent(types.MarkupKind.Markdown, text)


@lru_cache(maxsize=256)  # of the language's names, which each list of proposals shows
def plain(text: str) -> str:
    """Return Markdown without its marks, for a client that would show them."""
    return unmarked_words(_SECTION.sub(r"\1 (stepsmith explain \2)", text))


class Converter:
    """Converts what concerns one module. What cannot be placed in a text of it is None."""

    def __init__(self, workspace: Workspace, module: Module) -> None:
        self._client = workspace.client
        self._codec = workspace.codec
        self.module = module

    def locate(self, span: Span) -> tuple[Text, types.Range] | None:
        """Return the text and the range of a span."""
        return self.module.locate(span, self._codec)

    def range(self, span: Span) -> types.Range:
        """Return the range of a span, in whichever text it is."""
        located = self.locate(span)
        return located[1] if located is not None else types.Range(types.Position(0, 0), types.Position(0, 0))

    def corners(self, span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return line and character of both ends of a span, for what is asked of each program at each edit."""
        part = self.module.part(span)
        if part is None:
            return (0, 0), (0, 0)
        source, inner = part[0].source, part[1]
        return self._codec.place(source, inner.start), self._codec.place(source, inner.end)

    def location(self, span: Span) -> types.Location | None:
        """Return the location of a span."""
        located = self.locate(span)
        return None if located is None else types.Location(located[0].uri, located[1])

    def locations(self, spans: Iterable[Span]) -> list[types.Location]:
        """Return the locations of spans."""
        return [found for span in spans if (found := self.location(span)) is not None]

    # -- findings and edits ------------------------------------------------------------------------------------

    def diagnostic(self, found: Diagnostic) -> tuple[Text, types.Diagnostic] | None:
        """Return a finding and its text. ``data`` holds the fix, for clients that apply it themselves."""
        located = self.locate(found.span)
        if located is None:
            return None
        text, area = located
        href = explanation(found.code, rendered=self._client.is_ours)
        related = [
            types.DiagnosticRelatedInformation(place, item.message)
            for item in found.related
            if (place := self.location(item.span)) is not None
        ]
        return text, types.Diagnostic(
            range=area,
            message=found.message,
            severity=_SEVERITIES[found.severity],
            code=found.code,
            code_description=None if href is None else types.CodeDescription(href),
            source=SOURCE,
            tags=[types.DiagnosticTag.Unnecessary] if found.unnecessary else None,
            related_information=related or None,
            data=self._data(found),
        )

    def _data(self, found: Diagnostic) -> dict[str, Any] | None:
        if found.fix is None:
            return None
        edits = [
            {"uri": located[0].uri, "range": _area(self.corners(edit.span)), "newText": edit.text}
            for edit in found.fix.edits
            if (located := self.locate(edit.span)) is not None
        ]
        return {"fix": {"title": found.fix.title, "edits": edits}, "version": self.module.version}

    def workspace_edit(self, edits: Sequence[Edit]) -> types.WorkspaceEdit:
        """Return edits as the client takes them: with the version that they suit, where it can check that."""
        changes: dict[str, list[types.TextEdit]] = {}
        versions: dict[str, int | None] = {}
        for edit in edits:
            located = self.locate(edit.span)
            if located is not None:
                text, area = located
                changes.setdefault(text.uri, []).append(types.TextEdit(area, edit.text))
                versions[text.uri] = text.version
        if not self._client.document_changes:
            return types.WorkspaceEdit(changes=changes)
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, versions[uri]), list(items))
                for uri, items in changes.items()
            ]
        )

    def action(self, action: Action, shown: Sequence[types.Diagnostic]) -> types.CodeAction:
        """Return an action; ``shown`` are the findings that the client has at this place."""
        removed = {(found.code, found.message) for found in action.fixes}
        return types.CodeAction(
            title=action.title,
            kind=action.kind,
            diagnostics=[item for item in shown if (str(item.code), item.message) in removed] or None,
            is_preferred=action.is_preferred or None,
            edit=self.workspace_edit(action.edits),
        )

    # -- features ------------------------------------------------------------------------------------------------

    def _shown(self, text: str) -> types.MarkupContent:
        """Return the text of a hover."""
        client = self._client
        if "hover" in client.markdown:
            linked = _SECTION.sub(lambda match: f"[{match[1]}]({section(match[2], rendered=client.is_ours)})", text)
            return markdown(linked)
        return types.MarkupContent(types.MarkupKind.PlainText, plain(text))

    def _documentation(self, text: str) -> types.MarkupContent | str | None:
        """Return the documentation of a signature."""
        takes_markdown = "signature" in self._client.markdown
        return None if not text else markdown(text) if takes_markdown else plain(text)

    def hover(self, hover: Hover) -> types.Hover:
        """Return a hover."""
        return types.Hover(self._shown(hover.markdown), self.range(hover.span))

    def completions(self, items: Iterable[Completion]) -> dict[str, Any]:
        """Return proposals as plain JSON: there are hundreds, and objects on the way would take most of the time.

        Those for consumed streams are struck out where the client can do that.
        """
        takes_markdown = "completion" in self._client.markdown
        found = []
        span, area = Span(0, -1), dict[str, Any]()
        for item in items:
            if item.edit.span is not span:  # all proposals replace the same word
                span = item.edit.span
                area = _area(self.corners(span))
            entry: dict[str, Any] = {
                "label": item.label,
                "kind": _ITEMS[item.kind],
                "filterText": item.label,
                "insertTextFormat": _SNIPPET if item.is_snippet else _TEXT,
                "textEdit": {"range": area, "newText": item.edit.text},
            }
            if item.sort_text:
                entry["sortText"] = item.sort_text
            if item.detail:
                entry["detail"] = item.detail
            if item.documentation:
                text = item.documentation
                entry["documentation"] = {"kind": "markdown", "value": text} if takes_markdown else plain(text)
            if item.asks and self._client.is_ours:
                entry["command"] = {"title": "Propose", "command": "editor.action.triggerSuggest"}
            if item.is_spent and self._client.tags:
                entry["tags"] = [types.CompletionItemTag.Deprecated.value]
            found.append(entry)
        return {"isIncomplete": False, "items": found}

    def signature(self, found: CallSignature) -> types.SignatureHelp:
        """Return a signature; an argument that fits no parameter highlights none."""
        parameters = [types.ParameterInformation(label, self._documentation(text)) for label, text in found.parameters]
        active = len(parameters) if found.active is None else found.active
        signature = types.SignatureInformation(found.label, self._documentation(found.documentation), parameters)
        return types.SignatureHelp([signature], 0, active)

    def inlay_hint(self, hint: InlayHint) -> types.InlayHint:
        """Return an inlay hint."""
        position = self.range(Span(hint.offset, hint.offset)).start
        tooltip = self._shown(hint.tooltip) if hint.tooltip else None
        return types.InlayHint(position, hint.label, types.InlayHintKind.Type, tooltip=tooltip, padding_left=True)

    def symbol(self, symbol: Symbol) -> dict[str, Any]:
        """Return an entry of the outline (``DocumentSymbol``) as plain JSON: an editor asks for all after each edit."""
        entry: dict[str, Any] = {
            "name": symbol.name or "?",
            "kind": _SYMBOLS[symbol.kind].value,
            "range": _area(self.corners(symbol.span)),
            "selectionRange": _area(self.corners(symbol.selection)),
            "children": [self.symbol(child) for child in symbol.children],
        }
        if symbol.detail:
            entry["detail"] = symbol.detail
        return entry

    @staticmethod
    def symbol_kind(symbol: Symbol) -> types.SymbolKind:
        """Return what an entry of the outline is."""
        return _SYMBOLS[symbol.kind]

    def folding(self, folding: Folding) -> types.FoldingRange:
        """Return a region that can be closed."""
        kind = types.FoldingRangeKind.Comment if folding.is_comment else types.FoldingRangeKind.Region
        return types.FoldingRange(folding.start, folding.end, kind=kind)

    def tokens(self, uri: str, tokens: Iterable[Token]) -> dict[str, Any]:
        """Return the tokens of one text (``SemanticTokens``) in the protocol's relative form, as plain JSON;
        :mod:`stepserver.legend` names the numbers.

        There are thousands in a file, hence no positions on the way: lines are followed as the tokens come.
        """
        data: list[int] = []
        index = next((number for number, text in enumerate(self.module.texts) if text.uri == uri), None)
        if index is None:  # a notebook by its own name, which is no text
            return {"data": data}
        source, base = self.module.texts[index].source, self.module.starts[index]
        starts = (*source.line_starts, len(source.text) + 1)
        line = last_line = last_column = last_end = 0
        for token in sorted(tokens, key=itemgetter(0)):
            start, end = token.span
            start, end = start - base, end - base
            if start < last_end or end <= start or end >= starts[-1]:
                continue  # one inside of another, or of another cell
            while starts[line + 1] <= start:
                line += 1
            if end > starts[line + 1]:
                continue  # over several lines
            column, length = start - starts[line], end - start
            if not source.is_ascii:
                column = self._codec.units(source.text[starts[line] : start])
                length = self._codec.units(source.text[start:end])
            step = column - last_column if line == last_line else column
            data += (line - last_line, step, length, token_type(token.kind.value), _bits(token))
            last_line, last_column, last_end = line, column, end
        return {"data": data}


_DECLARATION: Final = 1 << MODIFIERS.index("declaration")
_SPENT: Final = 1 << MODIFIERS.index("spent")
_STREAM: Final = 1 << MODIFIERS.index("stream")


def _bits(token: Token) -> int:
    is_stream = token.kind is Kind.STREAM or token.kind is Kind.OUTPUT
    return _DECLARATION * token.is_declaration | _SPENT * token.is_spent | _STREAM * is_stream


def _area(corners: tuple[tuple[int, int], tuple[int, int]]) -> dict[str, Any]:
    (line, character), (end_line, end_character) = corners
    return {
        "start": {"line": line, "character": character},
        "end": {"line": end_line, "character": end_character},
    }
