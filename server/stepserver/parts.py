"""The parts of the server, and what each of them gets: the one place where they are put together.

Only what the first findings need is imported before ``initialize`` is answered, because a document follows the answer
at once. So each part is made when it is first asked for, and hears of the others by functions that are given to it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from stepserver import memory
from stepserver.editor import Editor
from stepserver.giving_back import SECONDS, GivingBack
from stepserver.guard import Reporter
from stepserver.loop import Loop
from stepserver.workspace import Workspace

if TYPE_CHECKING:
    from stepcore.findings.diagnostics import Diagnostic
    from stepcore.ide.analysis import Analysis
    from stepcore.jobdata.writing import FunctionRequest, ProposeRequest, Solution
    from stepserver.analyses import Analyses
    from stepserver.convert import Converter
    from stepserver.documents import Documents, Module
    from stepserver.findings import Findings
    from stepserver.notebooks import Notebooks
    from stepserver.optimizing import Optimizing
    from stepserver.projects import Projects
    from stepserver.simulation import Around, Simulation
    from stepserver.simulators import Simulators
    from stepserver.timers import Timers
    from stepserver.timing.status import TimingStatus
    from stepserver.watch import FileWatch
    from stepserver.writing import Writing


class Parts:
    """The parts of one server, for one client, and what one of them tells the others."""

    def __init__(self, server: LanguageServer) -> None:
        self.loop = Loop()
        self.workspace = Workspace()
        self.reporter = Reporter(server.window_log_message, self._out_of_memory)
        self.editor = Editor(server, self.workspace, self.loop, self.reporter)
        self.unseen: dict[str, Module] = {}  # modules whose programs are not shown as they are now
        self.giving_back = GivingBack(self.loop, self.reporter, lambda: self.analyses.characters, self._is_awaited)

    # -- the parts -----------------------------------------------------------------------------------------------

    @cached_property
    def documents(self) -> Documents:
        """The open documents."""
        from stepserver.documents import Documents

        return Documents(self.workspace, self._changed, self._closed)

    @cached_property
    def notebooks(self) -> Notebooks:
        """The open notebooks."""
        from stepserver.notebooks import Notebooks

        return Notebooks(self.workspace, self.documents, self.findings.clear)

    @cached_property
    def projects(self) -> Projects:
        """Configuration files and tasks on disk."""
        from stepserver.projects import Projects

        return Projects(self.documents)

    @cached_property
    def analyses(self) -> Analyses:
        """The analysis of each module."""
        from stepserver.analyses import Analyses

        return Analyses(
            self.documents,
            self.projects,
            self.workspace,
            self.loop,
            self.reporter,
            self._analysed,
            self.giving_back.forgot,
        )

    @cached_property
    def findings(self) -> Findings:
        """What is wrong, and who has been told."""
        from stepserver.findings import Findings

        return Findings(
            self.workspace, self.documents, self.projects, self.analyses, self.editor, self._findings_of_runs
        )

    @cached_property
    def watch(self) -> FileWatch:
        """Whoever tells of changed files."""
        from stepserver.watch import FileWatch

        return FileWatch(self.workspace, self.editor, self.loop, self.reporter, self.on_disk, self._look_again)

    @cached_property
    def simulators(self) -> Simulators:
        """The worker processes."""
        from stepserver.simulators import Simulators

        return Simulators(self.workspace, self.projects, self.editor, self.reporter)

    @cached_property
    def simulation(self) -> Simulation:
        """The status of each program."""
        from stepserver.simulation import Simulation

        return Simulation(self._around, self.simulators, self.watch.follow)

    @cached_property
    def timers(self) -> Timers:
        """The process that times programs."""
        from stepserver.timers import Timers

        return Timers(self.workspace)

    @cached_property
    def timing(self) -> TimingStatus:
        """How fast each program is."""
        from stepserver.timing.status import TimingStatus

        return TimingStatus(self._around, self.timers, self.loop, self.watch.follow)

    @cached_property
    def _around(self) -> Around:
        from stepserver.simulation import Around

        return Around(
            self.workspace, self.documents, self.projects, self.analyses, self.findings, self.editor, self.reporter
        )

    @cached_property
    def writing(self) -> Writing:
        """Programs that are being written."""
        from stepserver.writing import Writing

        return Writing(self.workspace, self.documents, self.editor, self.reporter, self._ranked)

    @cached_property
    def optimizing(self) -> Optimizing:
        """Programs that are being made faster."""
        from stepserver.optimizing import Optimizing

        return Optimizing(self._around, self.timing)

    async def _ranked(
        self, module: Module, request: ProposeRequest | FunctionRequest, solutions: tuple[Solution, ...]
    ) -> tuple[Solution, ...]:
        if not self.workspace.is_timed(module.uri):
            return solutions
        from stepserver.ranking import ranked

        return await ranked(self.timing, module, request, solutions)

    def has(self, name: str) -> bool:
        """Return whether a part was made already."""
        return name in self.__dict__

    def converter(self, module: Module) -> Converter:
        """Return what converts what concerns ``module``."""
        from stepserver.convert import Converter

        return Converter(self.workspace, module)

    def close(self) -> None:
        """Leave no process behind."""
        for name in ("simulators", "timers", "writing", "optimizing", "watch", "analyses"):
            if self.has(name):
                self.reporter.run(f"closing the {name}", getattr(self, name).close)

    # -- what one part tells the others -----------------------------------------------------------------------------

    def on_disk(self) -> None:
        """A task or configuration file changed on disk."""
        self.projects.forget()
        self.renew()
        for method in (types.WORKSPACE_INLAY_HINT_REFRESH, types.WORKSPACE_SEMANTIC_TOKENS_REFRESH):
            self.editor.refresh(method)

    def renew(self) -> None:
        """Look at all modules again: something that they depend on may have changed."""
        for module in self.documents:
            if self.analyses.newest(module) is None:
                self.analyses.touch(module)
            else:
                self.findings.changed(module)
                if self.has("simulation"):
                    self.simulation.show(module)
        if self.has("timing"):
            self.timing.look_again()

    def _changed(self, module: Module) -> None:
        """The text of a module changed."""
        self.analyses.touch(module)
        for other in self.documents.where(lambda other: other is not module and other.path.endswith(".impl.yaml")):
            self.analyses.touch(other)  # it may be the task that the other answers; if not, nothing is done

    def _closed(self, module: Module) -> None:
        """The client closed a module."""
        self.analyses.forget(module)
        self.projects.close(module)
        self.giving_back.forgot(len(module.source.text), SECONDS)
        self.simulation.close(module)
        if self.has("timing"):
            self.timing.close(module)
        for text in module.texts:
            self.findings.clear(text.uri)

    def _analysed(self, module: Module, analysis: Analysis) -> None:
        """A module has been analysed anew."""
        self.reporter.run("findings", self.findings.publish, module, analysis)
        self.unseen[module.uri] = module
        self.loop.wake()

    def _findings_of_runs(self, module: Module, analysis: Analysis) -> list[Diagnostic]:
        """Return what simulations found; the first findings do not wait for the import of what runs them."""
        found = self.simulation.diagnostics(module, analysis) if self.has("simulation") else []
        return found + self.timing.diagnostics(module, analysis) if self.has("timing") else found

    def _look_again(self) -> None:
        """Files that runs have read may have changed."""
        self.simulation.look_again()
        if self.has("timing"):
            self.timing.look_again()

    # -- memory ------------------------------------------------------------------------------------------------------

    def _is_awaited(self) -> bool:
        return self.has("simulation") and self.simulation.is_awaited

    def _out_of_memory(self, what: str) -> None:
        """Give back what can be made again, after ``what`` met the limit of memory."""
        self.analyses.drop()
        memory.release()
        self.reporter.tell(types.MessageType.Warning, f"Stepsmith: {what} ran out of memory; the rest goes on.")
