"""Findings on request, and what mends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from stepserver.handlers.place import place

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis
    from stepcore.text.span import Span
    from stepserver.parts import Parts

FIX_ALL = "source.fixAll.stepsmith"
WRITE = "refactor.rewrite.stepsmith"


async def diagnostic(parts: Parts, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
    """Return the findings of a text, or say that they are those that the client has."""
    uri = params.text_document.uri
    module = parts.documents.module_of(uri)
    if module is None or not parts.findings.is_asked_for(module):
        return types.RelatedFullDocumentDiagnosticReport([])
    analysis = await parts.analyses.of(module)
    items = parts.findings.converted(module, analysis).get(uri, [])
    mark = parts.findings.mark(items)
    if mark == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(mark)
    return types.RelatedFullDocumentDiagnosticReport(items, result_id=mark)


def nothing() -> types.DocumentDiagnosticReport:
    """The answer where finding out failed: a report must not be null."""
    return types.RelatedFullDocumentDiagnosticReport([])


async def code_action(parts: Parts, params: types.CodeActionParams) -> list[types.CodeAction] | None:
    """Offer what mends the findings of a place, the fix of the whole file, and what writes programs."""
    from stepcore.ide import features  # here, because the first findings must not wait for all features
    from stepserver.handlers import optimizing

    only = params.context.only
    synthesis = _synthesis(parts, params) if _wanted(WRITE, only) else []
    at = await place(parts, params.text_document.uri)
    if at is None:
        return synthesis or None
    found = []
    if _wanted("quickfix", only) or _wanted("refactor.rewrite", only):
        found = [
            action for action in features.actions(at.analysis, at.span(params.range)) if _wanted(action.kind, only)
        ]
        if parts.has("timing"):
            found += parts.timing.actions(at.module, at.analysis, at.span(params.range))
    whole = features.fix_all(at.analysis) if only is None or _wanted(FIX_ALL, only) else None
    if whole is not None and not any(action.kind == whole.kind for action in found):
        found.append(whole)
    offered = [at.convert.action(action, params.context.diagnostics) for action in found]
    if _wanted(WRITE, only) and _may_write(at.analysis, at.span(params.range)):
        offered.append(_write_action(parts, params.text_document.uri))
    if _wanted(WRITE, only):
        offered += optimizing.actions(parts, at, at.span(params.range))
    return offered + synthesis


def _synthesis(parts: Parts, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Offer to synthesize a program for the function of a place; our extension does so before a server runs."""
    from stepserver.synthesis import TITLE, is_offered

    uri = params.text_document.uri
    text = parts.documents.texts.get(uri)
    if parts.workspace.client.is_ours or not parts.workspace.is_trusted or text is None or text.language != "python":
        return []
    if not is_offered(text.source, params.range):
        return []
    start, end = ({"line": at.line, "character": at.character} for at in (params.range.start, params.range.end))
    target = {"uri": uri, "range": {"start": start, "end": end}, "apply": True}
    command = types.Command(TITLE, "stepsmith.server.synthesize", arguments=[target])
    return [types.CodeAction(TITLE, kind=WRITE, command=command)]


def _may_write(analysis: Analysis, span: Span) -> bool:
    """Return whether a program may be asked for here: in a task's ``impl``, anywhere in a task that has none."""
    from stepcore.ide.tasks.tree import task_tree

    if analysis.kind != "task":
        return False
    entry = task_tree(analysis.source.text).entry("impl")
    return entry is None or (span.end >= entry.key_span.start and span.start <= entry.value.span.end)


def _write_action(parts: Parts, uri: str) -> types.CodeAction:
    title = "Write impl"
    if parts.workspace.client.is_ours:  # it shows progress and lets the user choose
        command = types.Command(title, "stepsmith.writeImpl", arguments=[uri])
    else:
        command = types.Command(title, "stepsmith.server.write", arguments=[{"uri": uri, "apply": True}])
    return types.CodeAction(title, kind=WRITE, command=command)


def _wanted(kind: str, only: object) -> bool:
    """Return whether a client that asks for the kinds ``only`` takes an action of ``kind``; no list means any."""
    if not isinstance(only, list | tuple) or not only:
        return True
    names = [str(getattr(item, "value", item)) for item in only]
    return any(name in ("", kind) or kind.startswith(name + ".") for name in names)
