"""The commands ``stepsmith synth`` and ``stepsmith bench``; :mod:`stepcore.cli` finds them by their entry points."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stepagents.answers import answer_path, answer_text
from stepagents.runs import Row, SearchOptions, search_all
from stepcore.cli.files import write_atomically
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE, complain, waiting


class Format(StrEnum):
    """Output formats."""

    TEXT = "text"
    JSON = "json"


class Proposer(StrEnum):
    """Who writes the programs."""

    SEARCH = "search"
    LLM = "llm"


SecondsOption = Annotated[float, typer.Option("--budget-seconds", min=0.1, help="Time for each task.")]
SamplesOption = Annotated[
    int, typer.Option("--samples", min=1, help="Candidates that may be tried for each task.", show_default="200000")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the search.")]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
ProposerOption = Annotated[Proposer, typer.Option("--proposer", help="Who writes: the built-in search, or a model.")]


def synth(
    tasks: Annotated[list[str], typer.Argument(help="Task files or folders.", metavar="TASK...")],
    proposer: ProposerOption = Proposer.SEARCH,
    samples: SamplesOption = 200_000,
    budget_seconds: SecondsOption = 60.0,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Write NAME.impl.yaml files into this folder.")
    ] = None,
    output_format: FormatOption = Format.TEXT,
) -> None:
    """Write `impl` for tasks; exit 0 only if all are solved. Every answer has been verified."""
    _need_search(proposer)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for row in _rows(tasks, SearchOptions(budget_seconds, samples, seed)):
        rows.append(row)
        if row.solved and output is not None:
            write_atomically(answer_path(row.path, output), answer_text(row.impl).encode("utf-8"))
        if output_format is Format.TEXT:
            _print_row(row, with_impl=output is None)
    if output_format is Format.JSON:
        print(json.dumps([row.as_json() for row in rows], indent=2))
    elif len(rows) > 1:
        print(f"{sum(row.solved for row in rows)} of {len(rows)} solved")
    raise typer.Exit(_exit_code(rows))


def bench(
    tasks: Annotated[list[str], typer.Argument(help="Task files or folders.", metavar="TASKS...")],
    proposer: ProposerOption = Proposer.SEARCH,
    samples: SamplesOption = 200_000,
    budget_seconds: SecondsOption = 60.0,
    seed: SeedOption = 0,
    output_format: FormatOption = Format.TEXT,
) -> None:
    """Show how many tasks of each group are solved. A task's group is its name up to the first underscore."""
    _need_search(proposer)
    rows = list(_rows(tasks, SearchOptions(budget_seconds, samples, seed)))
    if output_format is Format.JSON:
        print(json.dumps([row.as_json() for row in rows], indent=2))
    else:
        _print_table(rows)
    raise typer.Exit(_exit_code(rows))


def _need_search(proposer: Proposer) -> None:
    if proposer is Proposer.LLM:
        raise typer.BadParameter("no model is connected yet; use --proposer search", param_hint="--proposer")


def _rows(tasks: Sequence[str], options: SearchOptions) -> list[Row]:
    found: list[Row] = []
    with waiting("searching") as tell:
        for row in search_all(tasks, options, tell):
            found.append(row)
    return found


def _exit_code(rows: Sequence[Row]) -> int:
    if any(row.problem for row in rows):
        return EXIT_UNUSABLE
    return EXIT_CLEAN if all(row.solved for row in rows) else EXIT_FINDINGS


def _print_row(row: Row, with_impl: bool) -> None:
    if row.problem:
        complain(f"{row.path}: {row.problem}")
        return
    state = "solved" if row.solved else "not solved"
    print(f"{state}  {row.task}  ({row.candidates:,} candidates, {row.seconds:.2f} s)")
    if row.solved and with_impl:
        print("".join(f"  {line}\n" for line in row.impl.split("\n")), end="")
    elif not row.solved:
        print(f"  {row.reason}")
    sys.stdout.flush()


def _print_table(rows: Sequence[Row]) -> None:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.problem:
            complain(f"{row.path}: {row.problem}")
        groups[row.task.split("_", 1)[0]].append(row)
    print(f"{'group':<14}{'solved':>8}{'tasks':>7}{'candidates':>12}{'seconds':>9}")
    for name, members in [*sorted(groups.items()), ("all", list(rows))]:
        solved, candidates = sum(row.solved for row in members), sum(row.candidates for row in members)
        print(f"{name:<14}{solved:>8}{len(members):>7}{candidates:>12,}{sum(row.seconds for row in members):>9.2f}")
    for row in rows:
        if not row.solved and not row.problem:
            print(f"not solved: {row.task} ({row.reason})")
