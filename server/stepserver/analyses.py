"""The analysis of each open module: made when the input is idle or when a request needs it, and never out of date.

There is no delay: edits that arrive together are applied first, because work starts only when no message waits.
Small texts are analysed in the event loop, large ones in a thread; a result for a text that changed meanwhile is
kept only as the base of the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from stepcore.findings.diagnostics import Diagnostic
from stepcore.ide.analysis import Analysis, analyze
from stepcore.text.span import SourceFile, Span
from stepserver.documents import Documents, Module
from stepserver.guard import Reporter
from stepserver.loop import Loop
from stepserver.projects import Projects
from stepserver.workspace import Workspace

if TYPE_CHECKING:
    from stepcore.jobdata.choices import AffineRule

# Characters of text whose analyses are kept, at about 120 bytes each; what was not asked for the longest time goes
# first, and comes back when it is needed. (1,000 lines have about 40,000.)
_KEPT: Final = 60_000
_INLINE: Final = 200_000  # characters; with more than that the loop would not answer for too long
_Key: TypeAlias = "tuple[int, AffineRule, tuple[str, str] | None]"


@dataclass(frozen=True, slots=True)
class _State:
    analysis: Analysis
    key: _Key


class Analyses:
    """Knows the newest analysis of every module. ``count`` is how many were made.

    ``analysed`` hears of each that is the newest, ``dropped`` of how many characters of text no analysis is kept.
    """

    def __init__(
        self,
        documents: Documents,
        projects: Projects,
        workspace: Workspace,
        loop: Loop,
        reporter: Reporter,
        analysed: Callable[[Module, Analysis], None],
        dropped: Callable[[int], None],
    ) -> None:
        self._documents = documents
        self._projects = projects
        self._workspace = workspace
        self._loop = loop
        self._reporter = reporter
        self._analysed = analysed
        self._dropped = dropped
        self._states: dict[str, _State] = {}
        self._dirty: dict[str, Module] = {}
        self._threads: dict[str, asyncio.Task[Analysis]] = {}
        self._demanded: dict[str, int] = {}  # revisions of large modules that the user asked to analyse
        self._executor = ThreadPoolExecutor(1, "stepsmith-analysis")
        self.count = 0

    def touch(self, module: Module) -> None:
        """Note that ``module``, or something that it depends on, changed."""
        self._dirty.pop(module.uri, None)
        self._dirty[module.uri] = module  # the last one is the one in which somebody types
        self._loop.wake()

    def forget(self, module: Module) -> None:
        """Drop what is known of a closed module."""
        for known in (self._states, self._dirty, self._demanded):
            known.pop(module.uri, None)

    def demand(self, module: Module) -> None:
        """Analyse a large module once, as it is now."""
        self._demanded[module.uri] = module.revision
        self._states.pop(module.uri, None)
        self.touch(module)

    def is_too_large(self, module: Module) -> bool:
        """Return whether ``module`` waits for somebody to ask for its analysis."""
        return module.is_large and self._demanded.get(module.uri) != module.revision

    def newest(self, module: Module) -> Analysis | None:
        """Return the analysis of the present text, if it is there."""
        state = self._states.get(module.uri)
        return state.analysis if state is not None and state.key == self._key(module) else None

    def step(self) -> bool:
        """Analyse one changed module; return whether there are more."""
        if self._dirty:
            _uri, module = self._dirty.popitem()
            if self._documents.is_open(module) and self.newest(module) is None:
                if self._is_inline(module):
                    self._analyze(module)
                else:
                    self._reporter.start("analysis", self.of(module))
        return bool(self._dirty)

    async def of(self, module: Module) -> Analysis:
        """Return the analysis of the present text."""
        while (found := self.newest(module)) is None:
            if self._is_inline(module):
                return self._analyze(module)
            task = self._threads.get(module.uri)
            if task is None:
                task = self._threads[module.uri] = asyncio.create_task(self._analyze_aside(module))
                task.add_done_callback(lambda _: self._threads.pop(module.uri, None))
            analysis = await asyncio.shield(task)
            if not self._documents.is_open(module):
                return analysis
        self._states[module.uri] = self._states.pop(module.uri)  # now the last to be dropped
        return found

    def drop(self) -> None:
        """Drop all analyses but those that say that there is none; they come back when they are needed."""
        for uri in [uri for uri, state in self._states.items() if state.analysis.kind != "none"]:
            del self._states[uri]

    @property
    def characters(self) -> int:
        """The length of all texts whose analyses are kept."""
        return sum(len(state.analysis.source.text) for state in self._states.values())

    def close(self) -> None:
        """Start nothing any more."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _key(self, module: Module) -> _Key:
        affine = self._workspace.settings_of(module.uri).affine or self._projects.project(module).config.affine
        return module.revision, affine, self._projects.task(module)

    def _is_inline(self, module: Module) -> bool:
        return len(module.source.text) <= _INLINE or self.is_too_large(module)

    def _analyze(self, module: Module) -> Analysis:
        key = self._key(module)
        return self._keep(module, key, self._compute(module, key))

    async def _analyze_aside(self, module: Module) -> Analysis:
        key = self._key(module)
        loop = asyncio.get_running_loop()
        return self._keep(module, key, await loop.run_in_executor(self._executor, self._compute, module, key))

    def _compute(self, module: Module, key: _Key) -> Analysis:
        _revision, affine, task = key
        known = self._states.get(module.uri)
        text, path = module.source.text, module.path
        if self.is_too_large(module):
            return Analysis(module.source, "none", affine)
        try:
            self.count += 1
            return analyze(text, path, affine=affine, task=task, previous=known.analysis if known else None)
        except MemoryError as error:
            self._states.clear()  # at once: what follows needs memory, too
            self._loop.from_thread(self._reporter.crash, "analysis", error)
            return Analysis(SourceFile(path, text), "none", affine, diagnostics=[_out_of_memory(text)])
        except Exception as error:  # noqa: BLE001 - a mistake of ours; the document goes on without findings
            self._loop.from_thread(self._reporter.crash, "analysis", error)
            return Analysis(SourceFile(path, text), "none", affine)

    def _keep(self, module: Module, key: _Key, analysis: Analysis) -> Analysis:
        if self._documents.is_open(module):
            self._states.pop(module.uri, None)
            self._states[module.uri] = _State(analysis, key)
            self._drop_old()
            if key == self._key(module):
                self._dirty.pop(module.uri, None)
                self._analysed(module, analysis)
        return analysis

    def _drop_old(self) -> None:
        """Drop the analyses that nobody has asked for lately, where there are many; never the newest."""
        excess = self.characters - _KEPT
        for uri in list(self._states)[:-1]:
            if excess <= 0:
                break
            characters = len(self._states.pop(uri).analysis.source.text)
            excess -= characters
            self._dropped(characters)


def _out_of_memory(text: str) -> Diagnostic:
    line = len(text.partition("\n")[0])
    message = "checking this file takes more memory than the server has, so nothing of it is known; split it up"
    return Diagnostic("STEP912", Span(0, line), message)
