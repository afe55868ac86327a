"""The server under pytest-lsp, which plays the clients of real editors and knows what each of them can take.

Whatever the server sends beyond a client's capabilities is an error here. What pytest-lsp cannot do (broken messages,
kills, races) is tested with the client of :mod:`lsp_client`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from weakref import WeakKeyDictionary, WeakSet

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import (
    ClientServerConfig,
    LanguageClient,
    LspSpecificationWarning,
    client_capabilities,
    make_test_lsp_client,
)

from processes import PATIENCE
from server_texts import GOOD, HEAD, OVERUSED, TASK

ROOT = Path(__file__).parents[1]
URI = "file:///project/conformance.py"
TEXT = HEAD + GOOD + OVERUSED
WAIT = PATIENCE
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]


def editor() -> LanguageClient:
    """Return pytest-lsp's client with the requests and notifications of the server that it does not know."""
    client = make_test_lsp_client()

    def done(*_params: object) -> None:
        return None

    for method in (
        types.CLIENT_REGISTER_CAPABILITY,
        types.WORKSPACE_CODE_LENS_REFRESH,
        types.WORKSPACE_INLAY_HINT_REFRESH,
        types.WORKSPACE_SEMANTIC_TOKENS_REFRESH,
    ):
        client.feature(method)(done)
    return client


CONFIG = ClientServerConfig(
    [sys.executable, "-m", "stepserver"],
    client_factory=editor,
    server_env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "server")))},
)
PULLED: WeakSet[LanguageClient] = WeakSet()  # those whose server waits to be asked for findings
OPENED: WeakKeyDictionary[LanguageClient, set[str]] = WeakKeyDictionary()
EDITORS = ["visual-studio-code", "neovim@0.7", "neovim", "emacs"]


@pytest_lsp.fixture(config=CONFIG, params=EDITORS, scope="module")  # type: ignore[untyped-decorator]
async def client(request: pytest.FixtureRequest, lsp_client: LanguageClient) -> AsyncIterator[None]:
    """A server that was told the capabilities of one editor, for all tests: they only ask about its documents."""
    capabilities = client_capabilities(request.param)
    result = await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    if result.capabilities.diagnostic_provider is not None:
        PULLED.add(lsp_client)
    yield
    await lsp_client.shutdown_session()


def at(text: str, mark: str, before: int = 0) -> types.Position:
    """Return the position of the last ``mark``; the texts are ASCII, so columns are the same in every encoding."""
    offset = text.rindex(mark) + before
    line_start = text.rfind("\n", 0, offset) + 1
    return types.Position(text.count("\n", 0, offset), offset - line_start)


async def opened(client: LanguageClient, uri: str, text: str, language: str = "python") -> list[types.Diagnostic]:
    """Open a document, once a server, and return its findings, pushed or pulled, as the server said that it does."""
    if uri not in OPENED.setdefault(client, set()):
        OPENED[client].add(uri)
        item = types.TextDocumentItem(uri, language, 1, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    if client in PULLED:
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        report = await asyncio.wait_for(client.text_document_diagnostic_async(params), WAIT)
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return list(report.items)
    while uri not in client.diagnostics:
        await asyncio.wait_for(client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS), WAIT)
    return list(client.diagnostics[uri])


def document(uri: str = URI) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(uri)


async def test_findings_and_their_fix(client: LanguageClient) -> None:
    (found,) = await opened(client, URI, TEXT)
    assert (found.code, found.severity) == ("STEP101", types.DiagnosticSeverity.Error)
    context = types.CodeActionContext(diagnostics=[found])
    actions = await client.text_document_code_action_async(types.CodeActionParams(document(), found.range, context))
    assert actions is not None
    (fix, *_) = [item for item in actions if isinstance(item, types.CodeAction) and item.kind == "quickfix"]
    if fix.edit is None:
        fix = await client.code_action_resolve_async(fix)
    assert fix.edit is not None and "Copy" in str(fix.edit)


async def test_findings_of_a_task(client: LanguageClient) -> None:
    uri = "file:///project/conformance.step.yaml"
    broken = TASK + "impl: |\n  E1 = step.Map(fn=fn_doubel).apply(E0)\n  return E1\n"
    (found,) = [item for item in await opened(client, uri, broken, "yaml") if item.severity == 1]
    assert (found.code, found.range.start.line) == ("STEP202", broken[: broken.index("fn_doubel")].count("\n"))


async def test_understanding(client: LanguageClient) -> None:
    """Hover, completion, signature help, symbols, folding, tokens and hints answer with what this client can take."""
    await opened(client, URI, TEXT)
    hover = await client.text_document_hover_async(types.HoverParams(document(), at(TEXT, "E1)", 1)))
    assert hover is not None and "E1" in str(hover.contents)
    place = at(TEXT, "step.Map", len("step."))
    completion = await client.text_document_completion_async(types.CompletionParams(document(), place))
    assert isinstance(completion, types.CompletionList)
    assert "Accum" in {item.label for item in completion.items}
    inside = at(TEXT, "(fn=add)", 1)
    signature = await client.text_document_signature_help_async(types.SignatureHelpParams(document(), inside))
    assert signature is not None and signature.signatures[0].label.startswith("Map(")
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document()))
    assert symbols is not None and {"good", "overused"} <= {item.name for item in symbols}
    folds = await client.text_document_folding_range_async(types.FoldingRangeParams(document()))
    assert folds
    tokens = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document()))
    assert tokens is not None and tokens.data and len(tokens.data) % 5 == 0
    whole = types.Range(types.Position(0, 0), at(TEXT, "\n"))
    hints = await client.text_document_inlay_hint_async(types.InlayHintParams(document(), whole))
    assert hints and any("N" in str(item.label) for item in hints)


async def test_navigation(client: LanguageClient) -> None:
    await opened(client, URI, TEXT)
    use = at(TEXT, "fn=double", len("fn="))
    definition = await client.text_document_definition_async(types.DefinitionParams(document(), use))
    assert definition is not None
    (place,) = definition if isinstance(definition, list | tuple) else [definition]
    assert isinstance(place, types.Location | types.LocationLink)
    area = place.range if isinstance(place, types.Location) else place.target_range
    line = area.start.line
    assert TEXT.split("\n")[line].startswith(("def double", "@step.fn"))
    context = types.ReferenceContext(include_declaration=True)
    references = await client.text_document_references_async(types.ReferenceParams(context, document(), use))
    assert references is not None and len(references) == TEXT.count("fn=double") + 1
    renamed = await client.text_document_rename_async(types.RenameParams(document(), use, "twice"))
    assert renamed is not None and str(renamed).count("'twice'") == len(references)


async def test_the_profiles_differ(client: LanguageClient, request: pytest.FixtureRequest) -> None:
    """The capabilities of the named editor are the ones that the server was told."""
    assert client.capabilities == client_capabilities(request.node.callspec.params["client"])


@pytest.mark.parametrize("client", ["visual-studio-code"], indirect=True)
async def test_a_breach_would_be_noticed(client: LanguageClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that a client cannot take is an error here, so the other tests can fail."""
    await opened(client, URI, TEXT)
    assert client.capabilities is not None and client.capabilities.text_document is not None
    poor = types.CompletionClientCapabilities(
        completion_item=types.ClientCompletionItemOptions(documentation_format=[])
    )
    monkeypatch.setattr(client.capabilities.text_document, "completion", poor)
    place = at(TEXT, "step.Map", len("step."))
    with pytest.raises(LspSpecificationWarning):
        await client.text_document_completion_async(types.CompletionParams(document(), place))
