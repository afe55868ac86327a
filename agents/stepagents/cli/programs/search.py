"""One search of a command for faster programs: its record on disk, its judges, and the memory it draws on and fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from stepagents.cli.programs.orders import ProgramOrder
from stepagents.cli.programs.view import watching
from stepagents.executors.executor import Executor
from stepagents.experience.optimizations import OptimizationItem
from stepagents.optimize.outcome import Optimized
from stepagents.optimize.remembering import OptimizationMemory
from stepcore.cli.terminal import complain
from stepcore.settings.limits import Wishes, in_force, user_wishes

if TYPE_CHECKING:
    from stepagents.optimize.run import ModelAdvice
    from stepcore.rewrites import RewriteSubject


@dataclass
class ProgramSearch:
    """What all searches of a call share. ``candidates`` are the most texts of one, None: as many as a search may."""

    stop: Event
    memory: OptimizationMemory = field(default_factory=OptimizationMemory)
    timers: Executor | None = None
    seconds: float | None = None
    candidates: int | None = None
    keep_code: bool = False

    def run(
        self,
        order: ProgramOrder,
        subject: RewriteSubject,
        title: str,
        *,
        apart: Sequence[str] = (),
        advice: ModelAdvice | None = None,
    ) -> tuple[Optimized, Sequence[OptimizationItem]]:
        """Return what came of one search and the items that it began with; what it learned is remembered once.

        ``apart`` are words that keep its record from those of other searches of the same order.

        Raises:
            LedgerError: the ledger of a model's answers cannot be used.
        """
        from stepagents.optimize.proof import Judges
        from stepagents.optimize.record import SearchRecord, record_path, search_order
        from stepagents.optimize.run import Watch, optimized
        from stepagents.optimize.search import CANDIDATES

        words = [*search_order(subject, order.target, remembers=self.memory.is_open), *apart]
        limits = in_force(order.config, Wishes(), user_wishes())
        with (
            SearchRecord(record_path(words)) as record,
            Judges(subject, order.target.chip, limits, is_stopped=self.stop.is_set) as judges,
            watching(title) as tell,
        ):
            if record.known:
                tell(f"{record.known:,} candidates are known from before")
            watch = Watch(tell, self.stop.is_set, self.seconds, candidates=self.candidates or CANDIDATES)
            began_with = record.memory(self.memory.items())
            outcome = optimized(
                subject, order.target, record, judges, watch, began_with,
                with_code=self.keep_code, executor=self.timers, advice=advice, users_text=order.text,
            )  # fmt: skip
            self.memory.keep(record.learn(outcome.learned))
            if record.problem:
                complain(record.problem)
        return outcome, began_with
