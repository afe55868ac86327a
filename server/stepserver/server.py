"""The server object: what is shared between the handlers, made when it is first needed.

Only what the first findings need is imported before ``initialize`` is answered, because a document follows the answer
at once; the rest is imported after these findings, or after a second without any document.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from stepserver import memory
from stepserver.client import Client, options_of, read_client
from stepserver.guard import Reporter
from stepserver.positions import Codec
from stepserver.protocol import Protocol, make_converter
from stepserver.settings import SECTION, Settings, read_settings, tightened

if TYPE_CHECKING:
    from stepcore.findings.diagnostics import Diagnostic
    from stepcore.ide.analysis import Analysis
    from stepserver.analyses import Analyses
    from stepserver.documents import Documents, Module
    from stepserver.findings import Findings
    from stepserver.notebooks import Notebooks
    from stepserver.projects import Projects
    from stepserver.simulation import Simulation
    from stepserver.simulators import Simulators
    from stepserver.transport import Inbox
    from stepserver.watch import Watch
    from stepserver.writing import Writing

NAME: Final = "stepsmith"
_WARM_SECONDS: Final = 1.0  # after the start, if no document is opened before
_FORGOTTEN: Final = 40_000  # characters of text whose analyses may be dropped before their memory is given back
_SWEEP_SECONDS: Final = 0.3  # without a message, until garbage is collected
_RELEASE_SECONDS: Final = 1.0  # after a close: by then the other tabs that are being closed are closed, too


class StepServer(LanguageServer):
    """One server for one client."""

    protocol: Protocol

    def __init__(self, version: str, notebooks: types.NotebookDocumentSyncOptions) -> None:
        super().__init__(
            NAME,
            version,
            types.TextDocumentSyncKind.Incremental,
            notebooks,
            protocol_cls=Protocol,
            converter_factory=make_converter,
        )
        self.reporter = Reporter(self)
        self.tasks: set[asyncio.Task[Any]] = set()
        self.client = Client()
        self.codec = Codec()
        self.is_trusted = False
        self.settings = Settings()
        self._folder_settings: dict[str, Settings] = {}
        self._interpreters: dict[str, str | None] = {}  # by folder; "" for all others
        self._folders: list[str] = []
        self._refreshing: set[str] = set()
        self._warming: Iterator[None] | None = None  # what is left of the start
        self._is_warm_time = False
        self._sweeping: asyncio.TimerHandle | None = None
        self._unseen: dict[str, Module] = {}  # modules whose programs are not shown as they are now
        self._forgotten = 0  # characters of text whose analyses were dropped since memory was given back
        self.inbox: Inbox
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- parts ---------------------------------------------------------------------------------------------------

    @cached_property
    def documents(self) -> Documents:
        """The open documents."""
        from stepserver.documents import Documents

        return Documents(self)

    @cached_property
    def notebooks(self) -> Notebooks:
        """The open notebooks."""
        from stepserver.notebooks import Notebooks

        return Notebooks(self)

    @cached_property
    def analyses(self) -> Analyses:
        """The analysis of each module."""
        from stepserver.analyses import Analyses

        return Analyses(self)

    @cached_property
    def findings(self) -> Findings:
        """What is wrong, and who has been told."""
        from stepserver.findings import Findings

        return Findings(self)

    @cached_property
    def projects(self) -> Projects:
        """Configuration files and tasks on disk."""
        from stepserver.projects import Projects

        return Projects(self)

    @cached_property
    def simulation(self) -> Simulation:
        """The status of each program."""
        from stepserver.simulation import Simulation

        return Simulation(self)

    @cached_property
    def simulators(self) -> Simulators:
        """The worker processes."""
        from stepserver.simulators import Simulators

        return Simulators(self)

    @cached_property
    def watch(self) -> Watch:
        """Whoever tells of changed files."""
        from stepserver.watch import Watch

        return Watch(self)

    @cached_property
    def writing(self) -> Writing:
        """Programs that are being written."""
        from stepserver.writing import Writing

        return Writing(self)

    # -- the life of the server ------------------------------------------------------------------------------

    def start(self, inbox: Inbox) -> None:
        """Serve the messages of ``inbox``; called in the event loop."""
        self.inbox = inbox
        self._loop = asyncio.get_running_loop()

    def initialize(self, params: types.InitializeParams) -> None:
        """Read what the client can do and wants."""
        from pygls.capabilities import ServerCapabilitiesBuilder

        options = options_of(params)
        self.client = read_client(params)
        encoding = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        self.codec = Codec(str(getattr(encoding, "value", encoding)))
        self.is_trusted = options.get("trusted") is True
        self.settings = read_settings(options.get("settings"))
        interpreter = options.get("interpreter")
        self._interpreters[""] = interpreter if isinstance(interpreter, str) and interpreter else None
        self._folders = [folder.uri for folder in params.workspace_folders or []]
        from stepserver import preload

        self.reporter.run("start-up", preload.first, self)
        self._warming = preload.rest(self)
        self.call_later(_WARM_SECONDS, self._may_warm)

    def on_idle(self) -> bool:
        """Do one piece of work that could wait; return whether there is more."""
        if "analyses" not in self.__dict__:
            return False
        if self.reporter.run("analysis", self.analyses.step):
            return True
        if self._unseen:
            self.reporter.run("the state of programs", self._look_at_programs)
            return True
        if self._warming is not None and (self.analyses.count or self._is_warm_time):
            self.reporter.run("start-up", self._warm)
            return True
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._loop is not None and self._warming is None:
            self._sweeping = self._loop.call_later(_SWEEP_SECONDS, memory.sweep)
        return False

    def _may_warm(self) -> None:
        """No document was opened so far: go on with the start."""
        self._is_warm_time = True
        self.inbox.wake()

    def _warm(self) -> None:
        """Take one step of what is left of the start; one that fails is the last."""
        steps, self._warming = self._warming, None
        try:
            for _ in steps or ():
                self._warming = steps
                break
        finally:
            if self._warming is None:
                memory.settle()

    def _look_at_programs(self) -> None:
        """Show the programs of one module; after the findings, because an editor waits for those."""
        module = self._unseen.popitem()[1]
        analysis = self.analyses.newest(module) if self.documents.is_open(module) else None
        if analysis is not None:
            self.simulation.on_analysis(module, analysis)
            if self.watch.needs(module, analysis) and self.projects.reread():
                self.on_disk()  # something changed after it was read and before it was watched

    def close(self) -> None:
        """Leave no process behind."""
        for part in ("simulators", "writing", "watch", "analyses"):
            if part in self.__dict__:
                self.reporter.run(f"closing the {part}", getattr(self, part).close)

    def call_in_loop(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have something called in the event loop; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    def call_later(self, seconds: float, function: Callable[[], Any]) -> None:
        """Have something called later; in the event loop."""
        if self._loop is not None:
            self._loop.call_later(seconds, function)

    # -- events ------------------------------------------------------------------------------------------------

    def on_change(self, module: Module) -> None:
        """The text of a module changed."""
        self.analyses.touch(module)
        for other in self.documents.where(lambda other: other is not module and other.path.endswith(".impl.yaml")):
            self.analyses.touch(other)  # it may be the task that the other answers; if not, nothing is done

    def on_close(self, module: Module) -> None:
        """The client closed a module."""
        self.analyses.forget(module)
        self.projects.close(module)
        self.forgot(len(module.source.text), _RELEASE_SECONDS)
        self.simulation.close(module)
        for text in module.texts:
            self.findings.clear(text.uri)

    def forgot(self, characters: int, seconds: float = 0.0) -> None:
        """Analyses of so much text were dropped; give their memory back ``seconds`` later."""
        self._forgotten += characters
        self.call_later(seconds, self._release)

    def out_of_memory(self, what: str) -> None:
        """Give back what can be made again, after ``what`` met the limit of memory."""
        self.analyses.drop()
        memory.release()
        self.reporter.tell(types.MessageType.Warning, f"Stepsmith: {what} ran out of memory; the rest goes on.")

    def _release(self) -> None:
        """Give memory back once what was forgotten outweighs what is kept, which then has to be parsed again."""
        if self._forgotten and self._forgotten >= min(self.analyses.characters, _FORGOTTEN):
            self._forgotten = 0
            self.reporter.run("giving memory back", memory.release)
            self.call_later(_RELEASE_SECONDS, memory.tidy)

    def on_analysis(self, module: Module, analysis: Analysis) -> None:
        """A module has been analysed anew."""
        self.reporter.run("findings", self.findings.publish, module, analysis)
        self._unseen[module.uri] = module
        self.inbox.wake()

    def on_disk(self) -> None:
        """A task or configuration file changed on disk."""
        self.projects.forget()
        self.renew()
        for method in (types.WORKSPACE_INLAY_HINT_REFRESH, types.WORKSPACE_SEMANTIC_TOKENS_REFRESH):
            self.refresh(method)

    def findings_of_runs(self, module: Module, analysis: Analysis) -> list[Diagnostic]:
        """Return what simulations found; the first findings do not wait for the import of what runs them."""
        return self.simulation.diagnostics(module, analysis) if "simulation" in self.__dict__ else []

    def renew(self) -> None:
        """Look at all modules again: something that they depend on may have changed."""
        for module in self.documents:
            if self.analyses.newest(module) is None:
                self.analyses.touch(module)
            else:
                self.findings.changed(module)
                if "simulation" in self.__dict__:
                    self.simulation.show(module)

    # -- settings ------------------------------------------------------------------------------------------------

    def settings_of(self, module: Module) -> Settings:
        """Return the settings of a module: of its folder, else of the whole window."""
        return self._folder_settings.get(self.folder_of(module.uri), self.settings)

    def interpreter_of(self, module: Module) -> str | None:
        """Return the Python in which a module is simulated; None for the server's own.

        Our extension reads the setting itself, because its values may be names that only it understands.
        """
        own = None if self.client.is_ours else self.settings_of(module).interpreter
        return own or self._interpreters.get(self.folder_of(module.uri)) or self._interpreters.get("")

    def folder_of(self, uri: str) -> str:
        """Return the innermost folder of the workspace that holds a document, "" for one that lies outside."""
        inside = (folder for folder in self._folders if uri == folder or uri.startswith(folder.rstrip("/") + "/"))
        return max(inside, key=len, default="")

    async def pull_settings(self) -> None:
        """Ask the client for its settings, for each folder."""
        if not self.client.configuration:
            return
        scopes: list[str | None] = [None, *self._folders]
        items = [types.ConfigurationItem(scope_uri=scope, section=SECTION) for scope in scopes]
        found = await self.protocol.ask(types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items))
        if isinstance(found, list | tuple) and len(found) == len(scopes):
            window, *folders = [read_settings(section) for section in found]
            await self.apply(window, dict(zip(self._folders, folders, strict=True)))

    async def apply(self, settings: Settings, folders: dict[str, Settings]) -> None:
        """Let new settings hold."""
        old = self.settings, self._folder_settings
        if old == (settings, folders):
            return
        before = self._workers_wanted()
        folders = {folder: tightened(own, settings) for folder, own in folders.items()}
        self.settings, self._folder_settings = settings, folders
        if before != self._workers_wanted():  # other settings must neither end a run nor cost a warm worker
            await self.restart_simulators()
        self.renew()
        if old[0].inlay_hints != settings.inlay_hints:
            self.refresh(types.WORKSPACE_INLAY_HINT_REFRESH)
        self.refresh(types.WORKSPACE_CODE_LENS_REFRESH)

    async def trust(self, is_trusted: bool) -> None:
        """Let simulation begin, or end it."""
        if is_trusted != self.is_trusted:
            self.is_trusted = is_trusted
            if not is_trusted:
                self.simulation.cancel()
            await self.restart_simulators()

    async def use_interpreter(self, folder: str | None, path: str | None) -> None:
        """Let programs of a folder (None: of all) be simulated by another Python."""
        before = self._workers_wanted()
        self._interpreters[folder or ""] = path or None
        if before != self._workers_wanted():
            await self.restart_simulators()

    def _workers_wanted(self) -> list[tuple[Any, ...]]:
        """Return what decides about the worker of each module: its Python, its memory and network, and when it runs."""
        found = ((module, self.settings_of(module)) for module in self.documents)
        return [(self.interpreter_of(module), own.memory, own.network, own.run) for module, own in found]

    async def restart_simulators(self) -> None:
        """End all workers and start those that are needed."""
        await self.simulators.reset()
        if "writing" in self.__dict__:
            await self.writing.reset()
        for module in self.documents:
            analysis = self.analyses.newest(module)
            if analysis is not None:
                self.simulation.on_analysis(module, analysis)
        self.refresh(types.WORKSPACE_CODE_LENS_REFRESH)

    def change_folders(self, added: list[str], removed: list[str]) -> None:
        """Follow the folders of the window."""
        self._folders = [folder for folder in self._folders if folder not in removed] + added

    # -- to the client --------------------------------------------------------------------------------------------

    def refresh(self, method: str) -> None:
        """Have the client ask again, if it can; requests in one turn of the loop are one."""
        if method in self.client.refreshes and method not in self._refreshing and self._loop is not None:
            self._refreshing.add(method)
            self._loop.call_soon(self._refresh, method)

    def _refresh(self, method: str) -> None:
        self._refreshing.discard(method)
        self.reporter.start(method, self.protocol.ask(method, None))

    def describe(self) -> dict[str, Any]:
        """Return what "Show Set-up Information" shows."""
        from dataclasses import asdict

        status = asdict(self.simulators.status)
        return {
            "server": {
                "version": self.version,
                "python": platform.python_version(),
                "executable": sys.executable,
                "pid": os.getpid(),
                "encoding": self.codec.encoding,
                "documents": len(self.documents.modules),
                "diagnostics": "pull" if self.findings.is_pulled else "push",
            },
            "simulator": status,
            "simulators": [
                {"interpreter": item.interpreter, "pids": item.worker_pids, **asdict(item.status)}
                for item in self.simulators
            ],
            "trusted": self.is_trusted,
            "settings": asdict(self.settings),
        }
