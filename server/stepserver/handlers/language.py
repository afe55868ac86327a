"""Features of a language: fetch, call :mod:`stepcore.ide.features`, convert."""

from __future__ import annotations

from dataclasses import replace

from lsprotocol import types

from stepcore.ide import features
from stepcore.ide.model import InlayHint
from stepcore.text.span import Span
from stepserver.documents import Module
from stepserver.handlers.place import place
from stepserver.parts import Parts
from stepserver.protocol import PlainAnswer, RequestRefused


async def hover(parts: Parts, params: types.HoverParams) -> types.Hover | None:
    """Explain what is under the pointer, with the values of the last run."""
    toml = _toml(parts, params)
    if toml is not None:
        from stepcore.ide.chip_file import toml_hover

        module, offset = toml
        known = toml_hover(module.path, module.source.text, offset)
        return None if known is None else parts.converter(module).hover(known)
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    offset = at.offset(params.position)
    found = features.hover(at.analysis, offset, parts.simulation.view(at.module, at.analysis, offset))
    if found is None:
        return None
    cycles = parts.timing.at(at.module, at.analysis, offset) if parts.has("timing") else ""
    return at.convert.hover(replace(found, markdown=f"{found.markdown}\n\n---\n\n{cycles}") if cycles else found)


async def completion(parts: Parts, params: types.CompletionParams) -> PlainAnswer | None:
    """Propose what may be written here."""
    toml = _toml(parts, params)
    if toml is not None:
        from stepcore.ide.chip_file import toml_completions

        module, offset = toml
        proposed = toml_completions(module.path, module.source.text, offset)
        return PlainAnswer(parts.converter(module).completions(proposed))
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    found = features.completions(at.analysis, at.offset(params.position), snippets=parts.workspace.client.snippets)
    return PlainAnswer(at.convert.completions(found))


def _toml(parts: Parts, params: types.HoverParams | types.CompletionParams) -> tuple[Module, int] | None:
    """Return module and offset where the document is TOML; chips and configurations are that."""
    module = parts.documents.module_of(params.text_document.uri)
    if module is None or not module.path.endswith(".toml"):
        return None
    return module, module.offset(params.text_document.uri, params.position, parts.workspace.codec) or 0


async def signature(parts: Parts, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
    """Show the parameters of the call around the cursor."""
    at = await place(parts, params.text_document.uri)
    found = None if at is None else features.signature(at.analysis, at.offset(params.position))
    return None if at is None or found is None else at.convert.signature(found)


async def definition(parts: Parts, params: types.DefinitionParams) -> list[types.Location] | None:
    """Tell where a name is bound."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    return at.convert.locations(features.definition(at.analysis, at.offset(params.position)))


async def references(parts: Parts, params: types.ReferenceParams) -> list[types.Location] | None:
    """Tell where a name is used."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    declaration = params.context.include_declaration
    return at.convert.locations(features.references(at.analysis, at.offset(params.position), declaration=declaration))


async def highlight(parts: Parts, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight] | None:
    """Mark the places of a name in this text."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    places = at.convert.locations(features.highlights(at.analysis, at.offset(params.position)))
    return [types.DocumentHighlight(item.range) for item in places if item.uri == params.text_document.uri]


async def prepare_rename(parts: Parts, params: types.PrepareRenameParams) -> types.Range | None:
    """Tell what would be renamed."""
    at = await place(parts, params.text_document.uri)
    span = None if at is None else features.prepare_rename(at.analysis, at.offset(params.position))
    return None if at is None or span is None else at.convert.range(span)


async def rename(parts: Parts, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """Rename everywhere; ``RequestRefused`` where no program is."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        raise RequestRefused("there is nothing here that Stepsmith can rename")
    return at.convert.workspace_edit(features.rename(at.analysis, at.offset(params.position), params.new_name))


async def inlay_hints(parts: Parts, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    """Show types and shapes of streams."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    settings, span = parts.workspace.settings_of(at.module.uri), at.span(params.range)
    found = list(features.inlay_hints(at.analysis, span)) if settings.inlay_hints else []
    # Our extension draws figures itself: outdated ones grey, the bottleneck and what waits in colours of their own.
    if settings.timing_inlay and parts.has("timing") and not parts.workspace.client.is_ours:
        figures = parts.timing.figures(at.module, at.analysis)
        found += [InlayHint(each.offset, each.label, each.detail) for each in figures if _holds(span, each.offset)]
    return [at.convert.inlay_hint(hint) for hint in found] if settings.inlay_hints or found else None


def _holds(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


async def tokens(parts: Parts, params: types.SemanticTokensParams) -> PlainAnswer | None:
    """Colour a whole text."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    return PlainAnswer(at.convert.tokens(at.uri, features.tokens(at.analysis, at.whole)))


async def tokens_range(parts: Parts, params: types.SemanticTokensRangeParams) -> PlainAnswer | None:
    """Colour a part of a text."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    return PlainAnswer(at.convert.tokens(at.uri, features.tokens(at.analysis, at.span(params.range))))


async def symbols(parts: Parts, params: types.DocumentSymbolParams) -> PlainAnswer | None:
    """Outline a text."""
    at = await place(parts, params.text_document.uri)
    if at is None:
        return None
    own = at.whole
    found = (symbol for symbol in features.symbols(at.analysis) if own.start <= symbol.span.start <= own.end)
    return PlainAnswer([at.convert.symbol(symbol) for symbol in found])


async def workspace_symbols(parts: Parts, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol] | None:
    """Find programs and functions of all open documents by a part of their names."""
    wanted = params.query.casefold()
    found: list[types.WorkspaceSymbol] = []
    for module in parts.documents:
        at = await place(parts, module.uri)
        for symbol in [] if at is None else features.symbols(at.analysis):
            location = None if at is None else at.convert.location(symbol.selection)
            if at is not None and location is not None and wanted in symbol.name.casefold():
                kind = at.convert.symbol_kind(symbol)
                found.append(types.WorkspaceSymbol(location=location, name=symbol.name, kind=kind))
    return found


async def folding(parts: Parts, params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
    """Tell what can be closed. Cells of a notebook are left to the client."""
    at = await place(parts, params.text_document.uri)
    if at is None or at.module.is_notebook:
        return None
    return [at.convert.folding(item) for item in features.folding(at.analysis)]
