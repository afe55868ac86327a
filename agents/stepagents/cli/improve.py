"""``stepsmith improve``: the learning loop over task files, resumed where an earlier one was stopped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from math import inf
from threading import Event
from typing import Annotated, Any, Final

import typer

from stepagents.cli import options as o
from stepagents.cli.answer_files import AnswerFiles
from stepagents.cli.experience import ExperienceKind, StoreOption, WorkspaceOption, open_store
from stepagents.cli.improve_view import concluded, going_on, standing_json, standings_table, watching
from stepagents.cli.orders import Wanted, read_orders
from stepagents.cli.programs.improve import (
    PROGRAM_CANDIDATES,
    ProgramLoopRequest,
    improve_programs,
    refuse_options_of_other_kind,
)
from stepagents.cli.programs.orders import (
    CapacityOption,
    ComputeOption,
    GoalOption,
    HwOption,
    TargetWish,
    open_timers,
)
from stepagents.cli.rows import NOTHING_TRIED
from stepagents.cli.session import First, ProposerChoice, interruptible, make_folder, open_sampler, show_requests
from stepagents.executors.opening import ExecutorChoice
from stepagents.experience.database import HoldsSecret, StoreError
from stepagents.experience.identity import UnusableProgram, task_key, without_impl
from stepagents.experience.journal import Journal, RunStart
from stepagents.experience.store import Store
from stepagents.experience.strata import Selection, selections
from stepagents.improve import Ended, Improvement, LoopOptions, TaskSampled
from stepagents.llm.options import Guardian
from stepagents.optimize.candidates import Goal
from stepagents.optimize.worker import OPTIMIZE_WORKER
from stepagents.sampling import Order, Sampler
from stepcore.cli.terminal import (
    EXIT_CLEAN,
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_UNUSABLE,
    complain,
    console,
)
from stepcore.cycles.bounds import COMPUTE
from stepcore.jobdata.writing import Experience
from stepcore.jobs.proposers import BY_OPTION, MODEL, SEARCH
from stepcore.records import Record
from stepcore.text.wording import one_line

CANDIDATES: Final = 300  # of the search for a task in one stage: the loop is about doing more with few

_SamplesOption = Annotated[
    int | None,
    typer.Option(
        "--samples", min=1, max=10_000_000, metavar="N",
        help="For each task in each stage: candidates of the search, or answers of a model.",
        show_default=f"{CANDIDATES} candidates, {MODEL.samples} answers",
    ),
]  # fmt: skip
_GranularityOption = Annotated[
    int, typer.Option("--granularity", min=1, max=100, help="Strata of experience, by how hard it was earned.")
]
_SelectionOption = Annotated[
    Selection,
    typer.Option(
        "--selection", help="Demonstrations: hardest-earned first and then more (adaptive), all at once, or none."
    ),
]
_RoundsOption = Annotated[int, typer.Option("--rounds", min=1, max=10_000, help="Rounds at most; a success ends one.")]
_AnswersOption = Annotated[
    int | None, typer.Option("--budget-answers", min=1, metavar="N", help="Candidates or answers of the whole run.")
]
_NewOption = Annotated[bool, typer.Option("--new", help="Begin anew even if an earlier run could go on.")]


class _Request(Record):
    """What the loop was asked for, beside the tasks."""

    loop: LoopOptions
    samples: int
    seconds: float
    seed: int
    new: bool


_KindOption = Annotated[
    ExperienceKind,
    typer.Option(
        "--kind", help="What is learned: programs for tasks (synthesis), or what makes programs faster (optimization)."
    ),
]
_TargetArgument = Annotated[
    list[str],
    typer.Argument(
        help="Task files, or folders; with --kind optimization programs: FILE[::PROGRAM].", metavar="TASK..."
    ),
]


def improve(
    ctx: typer.Context,
    tasks: _TargetArgument,
    kind: _KindOption = ExperienceKind.SYNTHESIS,
    proposer: o.ProposerOption = SEARCH.typed,
    model: o.ModelOption = None,
    base_url: o.BaseUrlOption = None,
    key_variable: o.KeyVariableOption = None,
    send_to_provider: o.SendOption = None,
    samples: _SamplesOption = None,
    granularity: _GranularityOption = 3,
    selection: _SelectionOption = Selection.ADAPTIVE,
    rounds: _RoundsOption = 20,
    budget_seconds: o.SecondsOption = None,
    budget_answers: _AnswersOption = None,
    budget_tokens: o.TokensOption = None,
    budget_cost: o.CostOption = None,
    price: o.PriceOption = None,
    answers_without_program: o.WithoutProgramOption = None,
    answers: o.AnswersOption = None,
    show_request: o.ShowRequestOption = False,
    repair: o.RepairOption = 0,
    guardian: o.GuardianOption = Guardian.DETERMINISTIC,
    seed: o.SeedOption = 0,
    new: _NewOption = False,
    executor: o.ExecutorOption = o.ExecutorName.LOCAL,
    ray_address: o.RayAddressOption = None,
    workers: o.WorkersOption = None,
    store: StoreOption = None,
    workspace: WorkspaceOption = "",
    hw: HwOption = None,
    capacity: CapacityOption = None,
    compute: ComputeOption = COMPUTE,
    goal: GoalOption = Goal.CYCLES,
    output_format: o.FormatOption = o.ResultFormat.TEXT,
) -> None:
    """Solve tasks again and again, each time with what was learned; successes are kept as experience.

    With --kind optimization programs are made faster instead, again and again, and what changes bring is remembered. A
    run that was stopped goes on when the same command is given again, and nothing is paid twice.

    Exit codes: 0 all tasks are solved, 1 some are not, 2 a file or an option cannot be used, 130 interrupted.
    """
    refuse_options_of_other_kind(ctx, kind)
    if kind is ExperienceKind.OPTIMIZATION:
        loop = ProgramLoopRequest(
            TargetWish(hw, capacity, compute, goal), samples or PROGRAM_CANDIDATES, rounds,
            inf if budget_answers is None else budget_answers, budget_seconds, new,
        )  # fmt: skip
        workers_of = ExecutorChoice(ray_address=ray_address, workers=workers, module=OPTIMIZE_WORKER)
        with open_store(store, workspace) as opened, open_timers(executor, workers_of) as timers:
            code = improve_programs(tasks, loop, opened, timers, output_format is o.ResultFormat.JSON)
        raise typer.Exit(code)
    entry = BY_OPTION[proposer]
    choice = ProposerChoice(
        entry, model, base_url, repair, executor, ray_address, workers, guardian, key_variable, send_to_provider,
        budget_tokens, budget_cost, price=price, answers_without_program=answers_without_program, answers=answers,
    )  # fmt: skip
    choice.check()
    number = samples or (entry.samples if entry.asks else min(CANDIDATES, entry.samples))
    limits = (inf if limit is None else float(limit) for limit in (budget_answers, budget_cost, budget_tokens))
    seconds = o.seconds_for(entry, budget_seconds)
    request = _Request(LoopOptions(granularity, selection, rounds, *limits), number, seconds, seed, new)
    wanted = read_orders(tasks, number, seconds, seed)
    choice = choice.for_files(order.path for order in wanted.orders)
    for unusable in wanted.unusable:
        complain(unusable.problem)
    if not wanted.orders:
        raise typer.Exit(EXIT_UNUSABLE)
    wanted = replace(wanted, orders=[_without_answer(order) for order in wanted.orders])
    fingerprint = _fingerprint(choice, wanted.orders, request)
    files = AnswerFiles(answers)
    with ExitStack() as stack:
        stop = stack.enter_context(interruptible())
        opened = stack.enter_context(open_store(store, workspace))
        start = _start(opened, wanted.orders, 0)
        first = First(start.tasks[0], _first_lessons(start, request)) if start.tasks else None
        if show_request:
            show_requests(choice, start.tasks, _first_lessons(start, request))
            raise typer.Exit(EXIT_UNUSABLE if wanted.unusable else EXIT_CLEAN)
        make_folder(answers, "--answers")
        # A model's ledger takes up the answers of a run of this kind that was stopped.
        sampler = stack.enter_context(open_sampler(choice, ["improve", fingerprint], stop, first, files.hear))
        code = _run(opened, sampler, wanted, request, fingerprint, stop, files, output_format is o.ResultFormat.JSON)
    raise typer.Exit(code)


def _run(
    store: Store,
    sampler: Sampler,
    wanted: Wanted,
    request: _Request,
    fingerprint: str,
    stop: Event,
    files: AnswerFiles,
    as_json: bool,
) -> int:
    """Run the loop, and return the exit code."""
    try:
        journal, resumed = _journal(store, fingerprint, wanted.orders, request)
        start = journal.start()
        with going_on(journal, resumed=resumed, as_json=as_json), watching(as_json) as view:
            loop = Improvement(
                start.tasks, start.demonstrations, sampler, request.loop, journal,
                lambda experience, order: _keep(store, experience, order), stop, view.tell,
            )  # fmt: skip
            for event in loop.run():
                view.show(loop, event)
                if isinstance(event, TaskSampled):
                    files.end(event.sampled)
                    if event.sampled.problem:
                        complain(event.sampled.problem)
            ended = concluded(journal, loop.ended)
    except StoreError as error:
        complain(str(error))
        return EXIT_UNUSABLE
    known = len({task_key(order.text) for order in wanted.orders}) - len(loop.standings)
    _report(loop, ended, journal, known, as_json)
    return _exit_code(loop, ended, wanted)


def _keep(store: Store, experience: Experience, order: Order) -> None:
    try:
        store.add(experience, order.path)
    except (HoldsSecret, UnusableProgram) as error:
        complain(f"{one_line(order.path)}: not kept as experience: {error}")


def _without_answer(order: Order) -> Order:
    return replace(order, text=without_impl(order.text, order.task))


def _fingerprint(choice: ProposerChoice, orders: Sequence[Order], request: _Request) -> str:
    """Return what a run has to share with an earlier one to go on with it: all but budgets and where it runs."""
    parts = [
        choice.proposer.typed, choice.model, choice.base_url, choice.repair, choice.guardian.value,
        request.loop.granularity, request.loop.selection.value, request.samples, request.seconds, request.seed,
        sorted({task_key(order.text) for order in orders}),
    ]  # fmt: skip
    return sha256(json.dumps(parts).encode("utf-8")).hexdigest()


def _journal(store: Store, fingerprint: str, orders: Sequence[Order], request: _Request) -> tuple[Journal, bool]:
    """Return the journal of an earlier run that was stopped and fits, else that of a new one; and whether it is old."""
    runs = Journal.runs(store, fingerprint)
    return Journal.going_on(store, runs, fingerprint, lambda: _start(store, orders, len(runs)), new=request.new)


def _start(store: Store, orders: Sequence[Order], runs: int) -> RunStart:
    """Return what a new run begins with, after so many ``runs`` of its kind."""
    stored = store.all()
    known = {item.task_key for item in stored}
    unsolved = tuple(
        # Further runs draw other samples: their seeds lie apart by more than a run has steps.
        replace(order, seed=order.seed + 100_000 * runs)
        for order in orders
        if task_key(order.text) not in known
    )
    return RunStart(unsolved, tuple(item.experience for item in stored))


def _first_lessons(start: RunStart, request: _Request) -> Sequence[Experience]:
    """Return the demonstrations of the first stage."""
    return selections(start.demonstrations, request.loop.granularity, request.loop.selection)[0]


def _report(loop: Improvement, ended: Ended, journal: Journal, known: int, as_json: bool) -> None:
    solved = sum(standing.earned is not None for standing in loop.standings)
    if as_json:
        content: dict[str, Any] = {
            "run": journal.number,
            "ended": ended.value,
            "known": known,
            "tasks": [standing_json(standing) for standing in loop.standings],
        }
        print(json.dumps(content, indent=2))
        return
    if loop.standings and all(standing.problem for standing in loop.standings):
        complain(NOTHING_TRIED)
        return
    if loop.standings:
        console().print(standings_table(loop.standings))
    before = f"; {known} had been solved before" if known else ""
    print(f"{solved} of {len(loop.standings)} solved{before}: {ended.value}")


def _exit_code(loop: Improvement, ended: Ended, wanted: Wanted) -> int:
    if ended is Ended.INTERRUPTED:
        return EXIT_INTERRUPTED
    if wanted.unusable or any(standing.problem for standing in loop.standings):
        return EXIT_UNUSABLE
    return EXIT_CLEAN if all(standing.earned is not None for standing in loop.standings) else EXIT_FINDINGS
