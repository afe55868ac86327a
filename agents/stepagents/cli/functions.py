"""What ``stepsmith synth`` does with ``FILE.py::FUNCTION``: its options, and the way to the lowering."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stepagents.cli import options as o
from stepagents.torchfn.target import split_argument
from stepcore.cli.sizes import parse_dims


class Writer(StrEnum):
    """Who writes programs. ``auto`` is the lowering for functions and the search for tasks."""

    AUTO = "auto"
    LOWER = "lower"
    SEARCH = "search"
    LLM = "llm"


class Emit(StrEnum):
    """What a program for a function is written as."""

    PYTHON = "python"
    TASK = "task"


WriterOption = Annotated[
    Writer,
    typer.Option(
        "--proposer",
        help="Who writes: auto (the lowering for functions, the search for tasks), the search (no key, no network), "
        "or a model.",
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
EmitOption = Annotated[Emit, typer.Option("--emit", help="With FILE.py::FUNCTION: a Python program, or a task file.")]
ExplainOption = Annotated[
    bool, typer.Option("--explain", help="With FILE.py::FUNCTION: show sizes of the checks and the other programs.")
]


def proposer_for_tasks(writer: Writer) -> o.Proposer:
    """Return who writes programs for tasks.

    Raises:
        typer.BadParameter: the lowering needs a function.
    """
    if writer is Writer.LOWER:
        raise typer.BadParameter("lower takes functions, FILE.py::FUNCTION", param_hint="--proposer")
    return o.Proposer.LLM if writer is Writer.LLM else o.Proposer.SEARCH


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
    arguments: Sequence[str],
    writer: Writer,
    inputs: Sequence[str],
    dims: str | None,
    emit: Emit,
    output: Path | None,
    seconds: float | None,
    seed: int,
    *,
    explain: bool,
    as_json: bool,
) -> int:
    """Synthesize programs for functions; returns the exit code.

    Raises:
        typer.BadParameter: an option that functions do not have.
    """
    from stepagents.torchfn.synth_function import BUDGET_SECONDS, FunctionOptions, run_functions

    if writer not in (Writer.AUTO, Writer.LOWER):
        what = f"{writer.value} works on task files; write one with --emit task"
        raise typer.BadParameter(what, param_hint="--proposer")
    options = FunctionOptions(
        inputs=tuple(inputs),
        dims=parse_dims(dims),
        emit="task" if emit is Emit.TASK else "python",
        output=output,
        explain=explain,
        as_json=as_json,
        seconds=seconds or BUDGET_SECONDS,
        seed=seed,
    )
    return run_functions(arguments, options)
