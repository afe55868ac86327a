"""``stepsmith improve --kind optimization``: programs made faster in rounds, each guided by what all others taught."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import typer

from stepagents.cli.experience import ExperienceKind
from stepagents.cli.improve_view import concluded, going_on
from stepagents.cli.programs.orders import ProgramOrder, ProgramOrders, TargetWish
from stepagents.cli.programs.search import ProgramSearch
from stepagents.cli.session import interruptible
from stepagents.executors.executor import Executor
from stepagents.experience.database import StoreError
from stepagents.experience.journal import Journal, RunStart
from stepagents.experience.store import Store
from stepagents.improve import Ended
from stepagents.optimize.outcome import brought
from stepagents.optimize.remembering import OptimizationMemory
from stepagents.optimize.rounds import ProgramRounds, ProgramStanding, Turn
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_UNUSABLE, complain, console
from stepcore.records import Record
from stepcore.reports.text import clean
from stepcore.text.wording import one_line, times_text

if TYPE_CHECKING:
    from rich.table import Table

PROGRAM_CANDIDATES: Final = 100  # of one program in one round
_TASKS_ONLY: Final = (
    "proposer", "model", "base_url", "key_variable", "send_to_provider", "granularity", "selection", "budget_tokens",
    "budget_cost", "price", "answers_without_program", "answers", "show_request", "repair", "guardian", "seed",
)  # fmt: skip
_PROGRAMS_ONLY: Final = ("hw", "capacity", "compute", "goal")


class ProgramLoopRequest(Record):
    """What the loop was asked for, beside the programs; ``most`` are candidates of the whole run."""

    wish: TargetWish
    candidates: int
    rounds: int
    most: float
    seconds: float | None
    new: bool


def refuse_options_of_other_kind(ctx: typer.Context, kind: ExperienceKind) -> None:
    """Refuse options that have no effect on this kind.

    Raises:
        typer.BadParameter: naming the option.
    """
    is_faster = kind is ExperienceKind.OPTIMIZATION
    way_out = "leave it out" if is_faster else "add --kind optimization"
    for name in _TASKS_ONLY if is_faster else _PROGRAMS_ONLY:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            others = "tasks" if is_faster else "programs that are made faster"
            raise typer.BadParameter(f"it is for {others}; {way_out}", param_hint=option)


def improve_programs(
    texts: list[str], request: ProgramLoopRequest, store: Store, timers: Executor | None, as_json: bool
) -> int:
    """Run the loop over the programs that are meant, and return the exit code."""
    programs = ProgramOrders(request.wish)
    with interruptible() as stop:
        orders = {f"{order.path}::{order.name}": order for order in programs.each(texts, stop)}
        if all(order.subject is None for order in orders.values()):
            for name, order in orders.items():
                complain(f"{one_line(name)}: {order.erroneous.problem}")
            return EXIT_INTERRUPTED if stop.is_set() else EXIT_UNUSABLE if programs.unusable else EXIT_FINDINGS
        try:
            fingerprint = _fingerprint(orders.values(), request)
            runs = Journal.runs(store, fingerprint)
            nothing = RunStart((), ())
            journal, resumed = Journal.going_on(store, runs, fingerprint, lambda: nothing, new=request.new)
            memory = OptimizationMemory(store, complain)
            search = ProgramSearch(stop, memory, timers, request.seconds, request.candidates)
            turns = _Turns(orders, journal.number, search)
            standings = [ProgramStanding(str(order.path), order.name, order.text) for order in orders.values()]
            loop = ProgramRounds(
                standings, turns.turn, stop.is_set, request.candidates, request.rounds, request.most
            )  # fmt: skip
            with going_on(journal, resumed=resumed, as_json=as_json):
                for number, standing, turn in loop.run():
                    if not as_json:
                        _show(number, standing, turn)
                ended = concluded(journal, loop.ended)
        except StoreError as error:
            complain(str(error))
            return EXIT_UNUSABLE
    _report(loop, ended, journal, as_json)
    if ended is Ended.INTERRUPTED:
        return EXIT_INTERRUPTED
    if programs.unusable:
        return EXIT_UNUSABLE
    return EXIT_FINDINGS if any(standing.problem for standing in loop.standings) else EXIT_CLEAN


@dataclass
class _Turns:
    """Makes the turns of one run. What one worked out is kept on disk, and found there when the run goes on."""

    orders: Mapping[str, ProgramOrder]
    run: str
    search: ProgramSearch

    def turn(self, standing: ProgramStanding, number: int) -> Turn:
        """Search from the text of a standing, and remember what is learned unless that was done before."""
        from stepcore.rewrites import subject_of

        order = self.orders[f"{standing.path}::{standing.name}"]
        subject = subject_of(standing.text, standing.path, standing.name, order.config.affine)
        if subject is None:
            return Turn(order.erroneous, 0)
        title = f"{one_line(standing.path)}::{standing.name}, round {number + 1}"
        apart = [f"run {self.run}, round {number}", str(self.search.candidates)]
        outcome, began_with = self.search.run(order, subject, title, apart=apart)
        known = {item.key for item in began_with}
        return Turn(outcome, sum(item.key not in known for item in outcome.learned))


def _fingerprint(orders: Iterable[ProgramOrder], request: ProgramLoopRequest) -> str:
    """Return what a run has to share with an earlier one to go on with it: all but budgets and where it runs."""
    wish = request.wish
    parts = [
        "optimization", wish.capacity, wish.compute, wish.goal.value, request.candidates,
        sorted([order.name, order.text, repr(order.target.chip), order.config.affine] for order in orders),
    ]  # fmt: skip
    return sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _show(number: int, standing: ProgramStanding, turn: Turn) -> None:
    name = f"{one_line(standing.path)}::{standing.name}"
    for reason in turn.outcome.refused:
        complain(f"{name}: {one_line(reason)}")
    if standing.problem or standing.best is None:
        complain(f"{name}: {one_line(standing.problem)}")
        return
    steps = turn.outcome.best.steps if turn.outcome.best is not None else ()
    done = "; ".join(f"{step.sentence}: {brought(step)}" for step in steps) or "nothing faster"
    print(clean(f"round {number + 1}  {name}  {standing.best.figures.cycles:,} cycles, {turn.new} learned: {done}"))


def _report(loop: ProgramRounds, ended: Ended, journal: Journal, as_json: bool) -> None:
    if as_json:
        rows = [_standing_json(standing) for standing in loop.standings]
        print(json.dumps({"run": journal.number, "ended": ended.value, "programs": rows}, indent=2))
        return
    if loop.standings:
        console().print(_table(loop.standings))
    learned = sum(standing.learned for standing in loop.standings)
    print(f"{learned} items learned, which `stepsmith optimize` uses: {ended.value}")


def _table(standings: Sequence[ProgramStanding]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("program", "rounds", "candidates", "cycles before", "cycles", "of the bound", "learned"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    for each in standings:
        before = "stopped" if each.first is None else f"{each.first.cycles:,}"
        after = "-" if each.best is None else f"{each.best.figures.cycles:,}"
        ratio = "-" if each.best is None or not each.bound else times_text(each.best.figures.cycles / each.bound)
        name = f"{one_line(each.path)}::{each.name}"
        cells = [name, str(each.rounds), f"{each.tried:,}", "-" if each.problem else before, after, ratio]
        table.add_row(*map(escape, cells), str(each.learned))
    return table


def _standing_json(standing: ProgramStanding) -> dict[str, Any]:
    figures = None if standing.best is None else standing.best.figures
    return {
        "path": standing.path,
        "program": standing.name,
        "problem": standing.problem,
        "rounds": standing.rounds,
        "candidates": standing.tried,
        "cycles_before": None if standing.first is None else standing.first.cycles,
        "cycles": None if figures is None else figures.cycles,
        "bound": standing.bound,
        "on_chip_bytes": None if figures is None else figures.on_chip,
        "learned": standing.learned,
        "seconds": round(standing.seconds, 3),
        "steps": [step.sentence for step in standing.steps],
        "text": standing.text,
    }
