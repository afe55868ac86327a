"""What is done when no message waits: analyses first, then what shows them, then what is left of the start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from stepserver import memory
from stepserver.parts import Parts

_WARM_SECONDS: Final = 1.0  # after the start, if no document is opened before
_SWEEP_SECONDS: Final = 0.3  # without a message, until garbage is collected


class Idle:
    """Does one piece of work at a time."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._warming: Iterator[None] | None = None  # what is left of the start
        self._is_warm_time = False
        self._sweeping: asyncio.TimerHandle | None = None

    def warm(self, steps: Iterator[None]) -> None:
        """Take the steps that are left of the start: after the first findings, or after a second without a document."""
        self._warming = steps
        self._parts.loop.later(_WARM_SECONDS, self._may_warm)

    def step(self) -> bool:
        """Do one piece of work that could wait; return whether there is more."""
        parts = self._parts
        if not parts.has("analyses"):
            return False
        if parts.reporter.run("analysis", parts.analyses.step):
            return True
        if parts.unseen:
            parts.reporter.run("the state of programs", self._look_at_programs)
            return True
        if self._warming is not None and (parts.analyses.count or self._is_warm_time):
            parts.reporter.run("start-up", self._warm)
            return True
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._warming is None:
            self._sweeping = parts.loop.later(_SWEEP_SECONDS, self._sweep)
        return False

    def _sweep(self) -> None:
        memory.sweep()
        self._parts.giving_back.quiet()

    def _may_warm(self) -> None:
        """No document was opened so far: go on with the start."""
        self._is_warm_time = True
        self._parts.loop.wake()

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
        parts = self._parts
        module = parts.unseen.popitem()[1]
        analysis = parts.analyses.newest(module) if parts.documents.is_open(module) else None
        if analysis is not None:
            parts.simulation.on_analysis(module, analysis)
            if parts.workspace.is_timed(module.uri) or parts.has("timing"):  # which may have to take figures back
                parts.reporter.run("timing", parts.timing.on_analysis, module, analysis)
            if parts.watch.needs(module, analysis) and parts.projects.reread():
                parts.on_disk()  # something changed after it was read and before it was watched
