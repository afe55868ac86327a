"""What ``stepsmith synth`` does with ``FILE.py::FUNCTION``: its options, and the ways to programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from stepagents.cli import options as o
from stepagents.cli.learning import Learning
from stepagents.sampling import Order, Sampled
from stepagents.torchfn.target import split_argument
from stepcore.cli.terminal import complain
from stepcore.jobdata.choices import Emit as FileForm
from stepcore.jobdata.writing import Experience
from stepcore.jobs.proposers import BY_OPTION, LOWER, MODEL, SEARCH, ProposerEntry
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepagents.cli.synth_function import Answers, FunctionOptions, FunctionRow


Ask: TypeAlias = Callable[[Sequence[Order], Sequence[Experience]], Iterable[Sampled]]


class Emit(StrEnum):
    """What a program for a function is written as."""

    AUTO = "auto"
    SCALAR = "scalar"
    PYTHON = "python"
    TASK = "task"
    TILED = "tiled"

    @property
    def order(self) -> FileForm:
        """What a job is asked for: a scalar program is what is called a Python file there."""
        return "python" if self is Emit.SCALAR else self.value  # type: ignore[return-value]


WriterOption = Annotated[
    o.WriterName,
    typer.Option(
        "--proposer",
        help="Who writes: auto (the lowering for functions, and the search for what has none; the search for tasks), "
        "lower, search (for functions: better programs than the lowering's; no key, no network), or llm (a model).",
    ),
]
InputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="TEXT", help='With FILE.py::FUNCTION: the shape of an argument, such as "x=m k" or "n=3".'
    ),
]
DimsOption = Annotated[
    str | None, typer.Option("--dims", metavar="M=64,N=64", help="With FILE.py::FUNCTION: sizes of its arguments.")
]
EmitOption = Annotated[
    Emit,
    typer.Option(
        "--emit",
        help="With FILE.py::FUNCTION: a Python program over tiles, the fewest cycles of many schedules (tiled), one of "
        "single numbers (scalar, or python), which is easier to read and takes more functions, the same as a task file "
        "(task), or over tiles where there is such a program, else of single numbers (auto).",
    ),
]
ExplainOption = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="With FILE.py::FUNCTION: show sizes of the checks and the other programs. With tasks: show the cycles of "
        "each program and, with a model, the verdict on each answer.",
    ),
]


def proposer_for_tasks(writer: str) -> ProposerEntry:
    """Return who writes programs for tasks.

    Raises:
        typer.BadParameter: the lowering needs a function.
    """
    if writer == LOWER:
        raise typer.BadParameter("lower takes functions, FILE.py::FUNCTION", param_hint="--proposer")
    return proposer_for_functions(writer)


def proposer_for_functions(writer: str) -> ProposerEntry:
    """Return whose options count: those of the search, unless another proposer is named."""
    return BY_OPTION.get(writer, SEARCH)


def are_functions(arguments: Sequence[str]) -> bool:
    """Return whether the arguments name functions.

    Raises:
        typer.BadParameter: some do and some do not.
    """
    found = [split_argument(argument) is not None for argument in arguments]
    if any(found) and not all(found):
        raise typer.BadParameter("name either functions (FILE.py::FUNCTION) or tasks", param_hint="TASK")
    return any(found)


def synth_functions(
    arguments: Sequence[str], writer: str, options: FunctionOptions, learning: Learning, ask: Ask
) -> int:
    """Synthesize programs for functions; returns the exit code.

    ``ask`` lets a model write programs for orders, learning from demonstrations.
    """
    from stepagents.cli.synth_function import run_functions

    entry = BY_OPTION.get(writer)
    options = replace(options, proposer=writer if entry is None else entry.name)
    answers: dict[str, Answers] = {}
    if entry is not None and entry.asks:
        answers = _asked(arguments, options, learning, ask)
    else:
        options = replace(options, experiences=learning.demonstrations(entry or SEARCH))
    return run_functions(arguments, options, answers, lambda row: _learn(row, learning))


def _asked(arguments: Sequence[str], options: FunctionOptions, learning: Learning, ask: Ask) -> dict[str, Answers]:
    """Make a task of each function and let a model write programs for it."""
    from stepagents.cli.synth_function import Answers, function_rows

    orders: list[Order] = []
    for row in function_rows(arguments, replace(options, proposer=LOWER, emit="python")):
        if row.found is not None and row.found.task:
            seconds = options.budget or o.MODEL_SECONDS
            found = row.found
            orders.append(Order(found.name, row.argument, found.task, options.samples, seconds, options.seed))
        elif not row.problem:
            complain(
                f"{one_line(row.argument)}: Stepsmith cannot express this function as a task, so no model is asked"
            )
    answers: dict[str, Answers] = {}
    for sampled in ask(orders, learning.demonstrations(MODEL)) if orders else ():
        if sampled.problem or not sampled.solved:
            complain(f"{one_line(sampled.path)}: {one_line(sampled.proposer)}: {sampled.problem or sampled.reason}")
        answers[sampled.path] = Answers(
            sampled.proposer,
            sampled.solutions,
            sampled.input_tokens + sampled.output_tokens,
            sampled.cost if sampled.cost_known else None,
            sampled.tokens_counted,
        )
    return answers


def _learn(row: FunctionRow, learning: Learning) -> None:
    """Record a program that was not lowered: the task, and the best that somebody wrote for it."""
    found, written = row.found, [item for item in row.programs if item.proposer != LOWER]
    if not written or found is None or not found.task:
        return
    tried, impls = max(found.candidates, 1), [item.impl for item in written]
    order = Order(found.name, row.argument, found.task, tried, found.seconds)
    sampled = Sampled(order.task, order.path, written[0].proposer or "", impls, tried, len(written))
    learning.record(order, sampled)
