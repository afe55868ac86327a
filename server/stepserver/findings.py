"""Findings to the client: pushed with the version that they belong to, or pulled where the client can do that."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from lsprotocol import types

from stepcore.findings.diagnostics import Diagnostic, Severity, listed
from stepcore.text.span import Span
from stepserver.analyses import Analyses
from stepserver.documents import Documents, Module
from stepserver.editor import Editor
from stepserver.projects import Projects
from stepserver.workspace import Workspace

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis


class Findings:
    """What is wrong in each text. ``is_pulled`` says that the client asks; then only cells of notebooks are pushed.

    VS Code's client asks for no cell: to it only texts with a tab of their own are visible. So that no other client
    gets the findings of a cell twice, who asks for those is told that there are none.
    """

    def __init__(
        self,
        workspace: Workspace,
        documents: Documents,
        projects: Projects,
        analyses: Analyses,
        editor: Editor,
        of_runs: Callable[[Module, Analysis], list[Diagnostic]],
    ) -> None:
        self._workspace = workspace
        self._documents = documents
        self._projects = projects
        self._analyses = analyses
        self._editor = editor
        self._of_runs = of_runs
        self.is_pulled = workspace.client.pulls
        self._pushed: set[str] = set()  # texts for which the client may hold findings

    def of(self, module: Module, analysis: Analysis) -> list[Diagnostic]:
        """Return the findings of a module, configuration applied: of the checker, of the last runs, of the set-up."""
        project = self._projects.project(module)
        if project.is_excluded:
            return []
        found = project.config.apply([*analysis.diagnostics, *self._of_runs(module, analysis)])
        if self._analyses.is_too_large(module):
            text = (
                "this file is over 5 MB or 100,000 lines: Stepsmith analyses it only when asked to, by the command "
                + ("Stepsmith: Analyze Large File" if self._workspace.client.is_ours else "`stepsmith.server.analyze`")
            )
            found.append(Diagnostic("STEP908", Span(0, 0), text, Severity.INFORMATION))
        elif analysis.kind != "none" and project.problem:
            found.append(Diagnostic("STEP907", Span(0, 0), project.problem, Severity.WARNING))
        return found

    def converted(self, module: Module, analysis: Analysis) -> dict[str, list[types.Diagnostic]]:
        """Return the findings of each text of a module."""
        from stepserver.convert import Converter

        convert = Converter(self._workspace, module)
        items: dict[str, list[types.Diagnostic]] = {text.uri: [] for text in module.texts}
        for found in listed(self.of(module, analysis)):
            located = convert.diagnostic(found)
            if located is not None:
                items[located[0].uri].append(located[1])
        return items

    def is_asked_for(self, module: Module) -> bool:
        """Whether the client asks for the findings of a module."""
        return self.is_pulled and not module.is_notebook

    @staticmethod
    def mark(items: list[types.Diagnostic]) -> str:
        """Return a name for findings that is another for others."""
        return hashlib.sha256(repr(items).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def publish(self, module: Module, analysis: Analysis) -> None:
        """Push what is known of a module, unless the client asks for it."""
        if self.is_asked_for(module):
            return
        for uri, items in self.converted(module, analysis).items():
            if items or uri in self._pushed:
                text = self._documents.texts[uri]
                self._push(uri, items, text.version)

    def changed(self, module: Module) -> None:
        """Tell the client that findings changed though the text did not."""
        if self.is_asked_for(module):
            self._editor.refresh(types.WORKSPACE_DIAGNOSTIC_REFRESH)
            return
        analysis = self._analyses.newest(module)
        if analysis is None:
            self._analyses.touch(module)  # what follows an analysis publishes
        else:
            self.publish(module, analysis)

    def clear(self, uri: str) -> None:
        """Take back all findings of a text that is closed."""
        if uri in self._pushed:
            self._push(uri, [], None)
            self._pushed.discard(uri)

    def _push(self, uri: str, items: list[types.Diagnostic], version: int | None) -> None:
        if items:
            self._pushed.add(uri)
        else:
            self._pushed.discard(uri)
        self._editor.publish(uri, items, version)
