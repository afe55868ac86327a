"""``stepsmith optimize``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from stepagents.cli import options as o
from stepagents.cli.programs.explained import explained_json, explained_order, left_out, show_explained
from stepagents.cli.programs.model import ModelWish, ProgramAnswers, Proposer, open_asker, show_first_request
from stepagents.cli.programs.orders import (
    CapacityOption,
    ComputeOption,
    GoalOption,
    HwOption,
    ImplOption,
    ProgramOrder,
    ProgramOrders,
    ProgramsArgument,
    TargetWish,
    open_timers,
)
from stepagents.cli.programs.search import ProgramSearch
from stepagents.cli.programs.view import ChangedFile, changed_file, nothing_text, show, show_problem
from stepagents.cli.remembering import open_memory
from stepagents.cli.session import ProposerChoice, interruptible, make_folder
from stepagents.executors.opening import ExecutorChoice
from stepagents.optimize.candidates import Goal, key_of
from stepagents.optimize.outcome import Optimized
from stepagents.optimize.worker import OPTIMIZE_WORKER
from stepcore.cli.targets import FileTarget, read_target
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_UNUSABLE
from stepcore.cycles.bounds import COMPUTE
from stepcore.jobs.proposers import MODEL
from stepcore.system.scarce import reason_of
from stepcore.text.files import Unusable
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepagents.optimize.run import ModelAdvice


class OptimizeFormat(Enum):
    """Output formats of the command."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


def optimize(
    programs: ProgramsArgument,
    hw: HwOption = None,
    capacity: CapacityOption = None,
    compute: ComputeOption = COMPUTE,
    goal: GoalOption = Goal.CYCLES,
    impl: ImplOption = None,
    budget_seconds: Annotated[
        float | None,
        typer.Option("--budget-seconds", min=0.1, max=604_800.0, metavar="S",
                     help="For each program, verification included.", show_default="until the search ends"),
    ] = None,
    proposer: Annotated[Proposer, typer.Option("--proposer", help="Who proposes changes.")] = Proposer.AUTO,
    apply: Annotated[bool, typer.Option("--apply", help="Write the best program into its file.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Search nothing; tell where each rewrite applies, and why not elsewhere.")
    ] = False,
    executor: o.ExecutorOption = o.ExecutorName.LOCAL,
    ray_address: o.RayAddressOption = None,
    workers: o.WorkersOption = None,
    output_format: Annotated[OptimizeFormat, typer.Option("--format", help="Output format.")] = OptimizeFormat.TEXT,
    experience: o.ExperienceOption = o.Learned.AUTO,
    keep_code: Annotated[
        bool, typer.Option("--keep-code", help="Remember the lines that changed, too, not only what kind of change.")
    ] = False,
    model: o.ModelOption = None,
    base_url: o.BaseUrlOption = None,
    key_variable: o.KeyVariableOption = None,
    send_to_provider: o.SendOption = None,
    show_request: Annotated[
        bool,
        typer.Option("--show-request", rich_help_panel="With --proposer llm",
                     help="Show what a model would be asked first about each program, and send nothing."),
    ] = False,
    budget_tokens: o.TokensOption = None,
    budget_cost: o.CostOption = None,
    price: o.PriceOption = None,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="DIR", rich_help_panel="With --proposer llm",
                     help="Write each answer into this folder, as NAME.answers.md for each program."),
    ] = None,
) -> None:  # fmt: skip
    """Make programs faster by rewrites that keep what they compute. What is shown was verified, and is never slower.

    Ctrl-C keeps the best so far; the same call goes on where it ended. Exit codes: 0 all programs were optimized, or
    are as fast as rewrites make them, 1 one has errors, stops for good or does not verify, 2 a file or an option cannot
    be used, 130 interrupted.
    """
    asked = ProposerChoice(
        proposer=MODEL, model=model, base_url=base_url, key_variable=key_variable, send_to_provider=send_to_provider,
        budget_tokens=budget_tokens, budget_cost=budget_cost, price=price, answers=answers,
    )  # fmt: skip
    wish = ModelWish(proposer, asked, shows_request=show_request)
    wish.check()
    orders = ProgramOrders(TargetWish(hw, capacity, compute, goal, impl))
    if explain:
        _explain(programs, orders, output_format, apply=apply)
    if show_request:
        _show_requests(programs, orders, wish, experience)
    make_folder(answers, "--answers")
    heard = ProgramAnswers(answers)
    choice = ExecutorChoice(ray_address=ray_address, workers=workers, module=OPTIMIZE_WORKER)
    goes_on = proposer is Proposer.AUTO
    parts = [sorted(programs), hw, capacity, compute, goal.value, proposer.value, *([] if impl is None else [impl])]
    from stepagents.optimize.run import ModelAdvice

    with (
        interruptible() as stop,
        open_memory(experience) as memory,
        open_timers(executor, choice) as timers,
        open_asker(wish.for_files(programs), parts, stop.is_set, heard) as asker,
    ):
        search = ProgramSearch(stop, memory, timers, budget_seconds, keep_code=keep_code)
        outcomes = []
        for order in orders.each(programs, stop):
            if asker is not None:
                asker.about = key_of(f"{order.path}::{order.name}")
                heard.about(order, asker.name)
            outcome = _optimized(order, search, None if asker is None else ModelAdvice(asker, goes_on))
            heard.end(outcome)
            outcomes.append(outcome)
            changed = changed_file(outcome, order.answer)
            is_written = apply and changed is not None and _apply(changed, orders)
            if output_format is OptimizeFormat.TEXT:
                show(outcome, orders.wish, None if is_written else changed)
            else:
                show_problem(outcome)
    if output_format is OptimizeFormat.JSON:
        print(json.dumps([outcome.as_json() for outcome in outcomes], indent=2))
    elif output_format is OptimizeFormat.HTML:
        from stepagents.optimize.page import optimize_page

        nothing = [nothing_text(outcome, orders.wish) for outcome in outcomes]
        sys.stdout.write(optimize_page(outcomes, nothing))
    if orders.unusable:
        raise typer.Exit(EXIT_UNUSABLE)
    if stop.is_set():
        raise typer.Exit(EXIT_INTERRUPTED)
    raise typer.Exit(EXIT_FINDINGS if any(outcome.best is None for outcome in outcomes) else EXIT_CLEAN)


def _explain(programs: list[str], orders: ProgramOrders, output_format: OptimizeFormat, *, apply: bool) -> NoReturn:
    """Tell what rewrites could do in each program, and why they cannot; nothing is searched or written."""
    if output_format is OptimizeFormat.HTML:
        raise typer.BadParameter("--explain gives text or json", param_hint="--format")
    if apply:
        raise typer.BadParameter("--explain changes nothing: leave one of the two out", param_hint="--apply")
    with interruptible() as stop:
        found = []
        for order in orders.each(programs, stop):
            places = explained_order(order)
            found.append((order, places))
            if places is not None and output_format is OptimizeFormat.TEXT:
                show_explained(order, places)
    if output_format is OptimizeFormat.JSON:
        print(json.dumps([explained_json(order, places) for order, places in found], indent=2))
    if orders.unusable:
        raise typer.Exit(EXIT_UNUSABLE)
    if stop.is_set():
        raise typer.Exit(EXIT_INTERRUPTED)
    raise typer.Exit(EXIT_FINDINGS if any(places is None for _, places in found) else EXIT_CLEAN)


def _show_requests(programs: list[str], orders: ProgramOrders, wish: ModelWish, experience: o.Learned) -> NoReturn:
    """Show what a model would be asked first; nothing is sent or searched."""
    with interruptible() as stop, open_memory(experience) as memory:
        shown = [show_first_request(wish, order, memory.items()) for order in orders.each(programs, stop)]
    raise typer.Exit(EXIT_UNUSABLE if orders.unusable else EXIT_CLEAN if all(shown) else EXIT_FINDINGS)


def _optimized(order: ProgramOrder, search: ProgramSearch, advice: ModelAdvice | None) -> Optimized:
    if order.subject is None:
        return order.erroneous
    made = search.run(order, order.subject, f"{one_line(order.path)}::{order.name}", advice=advice)[0]
    remark = left_out(order)
    return replace(made, refused=(*made.refused, remark)) if remark else made


def _apply(changed: ChangedFile, orders: ProgramOrders) -> bool:
    """Write the best text, unless the file was changed in the meantime; return whether it is in the file."""
    path = Path(changed.path)
    try:
        file, _config = read_target(FileTarget(path), orders.configs)
        if file.text != changed.before:
            orders.refuse(
                f"{one_line(path)}: it was changed in the meantime, and is left as it is; "
                "the same call begins with what is in it now"
            )
            return False
        orders.place(path).write(file.encoded(changed.after))
    except Unusable as error:  # it was removed in the meantime
        orders.refuse(f"{one_line(path)}: {error.code} {error.message}")
        return False
    except OSError as error:
        orders.refuse(f"{one_line(path)}: STEP901 it cannot be written: {reason_of(error)}")
        return False
    return True
