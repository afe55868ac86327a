"""All that the server offers, in one table: method, handler, options.

Handlers are imported when they are first called, each under a guard of its own, so that one that cannot even be
imported leaves the others alive.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, cast

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from stepserver.guard import guarded
from stepserver.idle import Idle
from stepserver.legend import LEGEND
from stepserver.parts import Parts
from stepserver.protocol import Protocol, make_converter
from stepserver.transport import Inbox
from stepserver.version import VERSION

NAME: Final = "stepsmith"

NOTEBOOKS: Final = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook", cells=[types.NotebookCellLanguage(language="python")]
        )
    ]
)


@dataclass(frozen=True, slots=True)
class Feature:
    """One method of the protocol. ``handler`` is "module:function" in :mod:`stepserver.handlers`.

    ``otherwise`` names the function for the answer where the handler crashed; null by default.
    """

    method: str
    handler: str
    options: Any = None
    otherwise: str = ""


FEATURES: Final = (
    Feature(types.INITIALIZED, "session:initialized"),
    Feature(types.SHUTDOWN, "session:shutdown"),
    Feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION, "session:configuration"),
    Feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, "session:folders"),
    Feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, "session:watched_files"),
    Feature("stepsmith/trust", "session:trust"),
    Feature("stepsmith/interpreter", "session:interpreter"),
    Feature(types.TEXT_DOCUMENT_DID_SAVE, "programs:did_save", types.SaveOptions(include_text=False)),
    Feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        "diagnostics:code_action",
        types.CodeActionOptions(
            code_action_kinds=[
                types.CodeActionKind.QuickFix,
                types.CodeActionKind.RefactorRewrite,
                "source.fixAll.stepsmith",
            ]
        ),
    ),
    Feature(
        types.TEXT_DOCUMENT_COMPLETION,
        "language:completion",
        types.CompletionOptions(trigger_characters=[".", "(", ",", "=", "[", "@"]),
    ),
    Feature(types.TEXT_DOCUMENT_HOVER, "language:hover"),
    Feature(
        types.TEXT_DOCUMENT_SIGNATURE_HELP,
        "language:signature",
        types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=["="]),
    ),
    Feature(types.TEXT_DOCUMENT_DEFINITION, "language:definition"),
    Feature(types.TEXT_DOCUMENT_REFERENCES, "language:references"),
    Feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, "language:highlight"),
    Feature(types.TEXT_DOCUMENT_PREPARE_RENAME, "language:prepare_rename"),
    Feature(types.TEXT_DOCUMENT_RENAME, "language:rename"),
    Feature(types.TEXT_DOCUMENT_INLAY_HINT, "language:inlay_hints"),
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, "language:tokens", LEGEND),
    Feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, "language:tokens_range", LEGEND),
    Feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, "language:symbols"),
    Feature(types.WORKSPACE_SYMBOL, "language:workspace_symbols"),
    Feature(types.TEXT_DOCUMENT_FOLDING_RANGE, "language:folding"),
    Feature(types.TEXT_DOCUMENT_CODE_LENS, "programs:code_lens"),
    Feature("stepsmith/graph", "programs:graph"),
    Feature("stepsmith/timeline", "programs:timeline"),
    Feature("stepsmith/status", "programs:status"),
)
# Registered only for a client that pulls; offered to another it would get findings twice.
PULL: Final = Feature(
    types.TEXT_DOCUMENT_DIAGNOSTIC,
    "diagnostics:diagnostic",
    types.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False, identifier="stepsmith"),
    "diagnostics:nothing",
)
COMMANDS: Final = {
    "stepsmith.server.simulate": "programs:simulate",
    "stepsmith.server.time": "programs:time",
    "stepsmith.server.cancel": "programs:cancel",
    "stepsmith.server.analyze": "programs:analyze",
    "stepsmith.server.write": "writing:write",
    "stepsmith.server.synthesize": "writing:synthesize",
    "stepsmith.server.sizes": "writing:sizes",
    "stepsmith.server.stopWriting": "writing:stop_writing",
    "stepsmith.server.withImpl": "writing:with_impl",
    "stepsmith.server.optimize": "optimizing:optimize",
    "stepsmith.server.stopOptimizing": "optimizing:stop_optimizing",
    "stepsmith.server.takeFaster": "optimizing:take_faster",
    "stepsmith.server.explainRewrites": "optimizing:explain_rewrites",
}


def find_handler(name: str) -> Callable[..., Any]:
    """Return the function that "module:function" names."""
    module, _, function = name.partition(":")
    return cast("Callable[..., Any]", getattr(import_module(f"stepserver.handlers.{module}"), function))


class Server:
    """One server for one client: its connection, its parts, and what it does when nothing waits."""

    def __init__(self) -> None:
        self.connection = LanguageServer(
            NAME,
            VERSION,
            types.TextDocumentSyncKind.Incremental,
            NOTEBOOKS,
            protocol_cls=Protocol,
            converter_factory=make_converter,
        )
        assert isinstance(self.connection.protocol, Protocol)
        self.protocol = self.connection.protocol
        self.parts = Parts(self.connection)
        self.idle = Idle(self.parts)
        self.protocol.crash = self.parts.reporter.crash
        self.protocol.hear = self._hear
        for feature in FEATURES:
            self._register(feature)
        for command, name in COMMANDS.items():
            self.connection.command(command)(guarded(self.parts.reporter, command, self._late(name)))

        @self.connection.feature(types.INITIALIZE)
        def initialize(params: types.InitializeParams) -> None:  # a function: pygls marks it
            self._initialize(params)

    @property
    def client_process(self) -> int | None:
        """The process id of the client, if it told one."""
        return self.connection.process_id

    def start(self, inbox: Inbox) -> None:
        """Serve the messages of ``inbox``; called in the event loop."""
        self.protocol.inbox = inbox
        self.parts.loop.start(inbox)

    def _initialize(self, params: types.InitializeParams) -> None:
        parts = self.parts
        parts.workspace.initialize(params)
        from stepserver import preload

        parts.reporter.run("start-up", preload.first, parts, self.protocol)
        self.idle.warm(preload.rest(parts, self.protocol))
        if parts.workspace.client.pulls:
            self._register(PULL)

    def _hear(self, method: str, params: Any) -> None:
        """Follow what the client does to its texts."""
        parts = self.parts
        match method:
            case types.TEXT_DOCUMENT_DID_OPEN:
                parts.reporter.run("didOpen", parts.documents.open, params.text_document)
            case types.TEXT_DOCUMENT_DID_CHANGE:
                parts.reporter.run("didChange", parts.documents.change, params)
            case types.TEXT_DOCUMENT_DID_CLOSE:
                parts.reporter.run("didClose", parts.documents.close, params.text_document.uri)
            case types.NOTEBOOK_DOCUMENT_DID_OPEN:
                parts.reporter.run("notebook didOpen", parts.notebooks.open, params)
            case types.NOTEBOOK_DOCUMENT_DID_CHANGE:
                parts.reporter.run("notebook didChange", parts.notebooks.change, params)
            case types.NOTEBOOK_DOCUMENT_DID_CLOSE:
                parts.reporter.run("notebook didClose", parts.notebooks.close, params.notebook_document.uri)

    def _register(self, feature: Feature) -> None:
        def otherwise() -> Any:
            return find_handler(feature.otherwise)() if feature.otherwise else None

        handler = guarded(self.parts.reporter, feature.method, self._late(feature.handler), otherwise)
        self.connection.feature(feature.method, feature.options)(handler)

    def _late(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*params: Any) -> Any:
            return await find_handler(name)(self.parts, *params)

        return call
