"""``stepsmith synth``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepagents.cli import functions as f
from stepagents.cli import options as o
from stepagents.cli.answer_files import AnswerFiles
from stepagents.cli.learning import open_learning
from stepagents.cli.orders import Wanted, read_orders
from stepagents.cli.progress import progress_bar
from stepagents.cli.rows import exit_code, row_json, row_text, unwritten
from stepagents.cli.session import First, ProposerChoice, interruptible, make_folder, open_sampler, show_requests
from stepagents.llm.options import Guardian
from stepagents.sampling import Order, Sampled, Sampler
from stepagents.spending import spent_on
from stepcore.cli.sizes import parse_dims
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_INTERRUPTED, EXIT_UNUSABLE, complain
from stepcore.graph.task import answer_path
from stepcore.jobdata.writing import Experience
from stepcore.jobs.proposers import AUTO
from stepcore.printing.task import impl_to_yaml
from stepcore.text.files import write_atomically
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepcore.cli.beside import Beside


def synth(
    tasks: o.SubjectsArgument,
    writer: f.WriterOption = AUTO,
    model: o.ModelOption = None,
    base_url: o.BaseUrlOption = None,
    key_variable: o.KeyVariableOption = None,
    send_to_provider: o.SendOption = None,
    show_request: o.ShowRequestOption = False,
    samples: o.SamplesOption = None,
    budget_seconds: o.SecondsOption = None,
    budget_tokens: o.TokensOption = None,
    budget_cost: o.CostOption = None,
    price: o.PriceOption = None,
    answers_without_program: o.WithoutProgramOption = None,
    answers: o.AnswersOption = None,
    repair: o.RepairOption = 0,
    guardian: o.GuardianOption = Guardian.DETERMINISTIC,
    seed: o.SeedOption = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Write NAME.impl.yaml here, for `verify --impl DIR`; NAME.step.py for functions, one also to a FILE.",
        ),
    ] = None,
    inputs: f.InputOption = None,
    dims: f.DimsOption = None,
    emit: f.EmitOption = f.Emit.AUTO,
    explain: f.ExplainOption = False,
    executor: o.ExecutorOption = o.ExecutorName.LOCAL,
    ray_address: o.RayAddressOption = None,
    workers: o.WorkersOption = None,
    experience: o.ExperienceOption = o.Learned.AUTO,
    output_format: o.FormatOption = o.ResultFormat.TEXT,
) -> None:
    """Write `impl` for tasks, or a program for FILE.py::FUNCTION. Every answer was verified on fresh data and sizes.

    Exit codes: 0 all tasks are solved, 1 some are not, 2 a file or an option cannot be used, 130 interrupted.
    """
    functions = f.are_functions(tasks)
    proposer = f.proposer_for_functions(writer) if functions else f.proposer_for_tasks(writer)
    choice = ProposerChoice(
        proposer, model, base_url, repair, executor, ray_address, workers, guardian, key_variable, send_to_provider,
        budget_tokens, budget_cost, price=price, answers_without_program=answers_without_program, answers=answers,
    )  # fmt: skip
    choice.check()
    make_folder(answers, "--answers")
    if functions:
        from stepagents.cli.synth_function import BUDGET_SECONDS, FunctionOptions

        wanted_of_each = FunctionOptions(
            inputs=tuple(inputs or ()),
            dims=parse_dims(dims),
            emit=emit.order,
            output=output,
            explain=explain,
            as_json=output_format is o.ResultFormat.JSON,
            seconds=BUDGET_SECONDS + (budget_seconds or 0.0),
            seed=seed,
            budget=budget_seconds,
            samples=o.samples_for(proposer, samples),
        )
        with open_learning(experience) as learning:
            raise typer.Exit(f.synth_functions(tasks, writer, wanted_of_each, learning, partial(_ask, choice)))
    wanted = read_orders(tasks, o.samples_for(proposer, samples), o.seconds_for(proposer, budget_seconds), seed)
    choice = choice.for_files(order.path for order in wanted.orders)
    if show_request:
        with open_learning(experience) as learning:
            show_requests(choice, wanted.orders, learning.demonstrations(proposer))
        raise typer.Exit(EXIT_UNUSABLE if wanted.unusable else EXIT_CLEAN)
    _prepare_output(output, wanted)
    is_text = output_format is o.ResultFormat.TEXT
    files = AnswerFiles(answers)
    results: list[Sampled] = []
    timings: dict[str, list[Beside]] = {}
    lost = False
    with interruptible() as stop:
        for sampled in wanted.unusable:
            results.append(sampled)
            complain(sampled.problem)
        by_path = {order.path: order for order in wanted.orders}
        if wanted.orders:
            with (
                open_learning(experience) as learning,
                _opened(choice, wanted.orders, learning.demonstrations(proposer), stop, files) as (sampler, known),
                progress_bar(len(wanted.orders)) as bar,
            ):
                for sampled in sampler.sample(wanted.orders, known, stop=stop, tell=bar.tell):
                    results.append(sampled)
                    bar.count(sampled)
                    learning.record(by_path[sampled.path], sampled)
                    timings[sampled.path] = _rank(sampled, by_path[sampled.path].text)
                    is_kept = _keep(sampled, output)
                    lost |= not is_kept
                    files.end(sampled)
                    if is_text:
                        is_shown = output is None or not is_kept
                        _show(sampled, timings[sampled.path], files, with_impl=is_shown, explain=explain)
                    elif sampled.problem:
                        complain(sampled.problem)
    _finish(wanted, results, timings, files, is_text)
    code = EXIT_UNUSABLE if lost else exit_code(results)
    raise typer.Exit(EXIT_INTERRUPTED if stop.is_set() else code)


@contextmanager
def _opened(
    choice: ProposerChoice, orders: Sequence[Order], known: Sequence[Experience], stop: Event, files: AnswerFiles
) -> Iterator[tuple[Sampler, Sequence[Experience]]]:
    """Open the sampler of ``choice``; its user can see what is asked first, and ``files`` get what is answered."""
    parts, first = [asdict(order) for order in orders], First(orders[0], known)
    with open_sampler(choice, parts, stop, first, files.hear) as sampler:
        yield sampler, known


def _ask(choice: ProposerChoice, orders: Sequence[Order], known: Sequence[Experience]) -> Iterator[Sampled]:
    """Let a model write programs for orders; the first interrupt ends that, and what was earned is kept."""
    choice = choice.for_files(order.path.rpartition("::")[0] for order in orders)
    files = AnswerFiles(choice.answers)
    with (
        interruptible() as stop,
        _opened(choice, orders, known, stop, files) as (sampler, _),
        progress_bar(len(orders)) as bar,
    ):
        for sampled in sampler.sample(orders, known, stop=stop, tell=bar.tell):
            bar.count(sampled)
            files.end(sampled)
            if (path := files.path(sampled)) is not None:
                complain(f"{one_line(sampled.path)}: answers of {one_line(sampled.proposer)}: {one_line(path)}")
            yield sampled


def _prepare_output(output: Path | None, wanted: Wanted) -> None:
    """Make the folder, and refuse two tasks whose answers would be one file.

    Raises:
        typer.BadParameter: see there, or the folder cannot be made.
    """
    if output is None:
        return
    for name, count in Counter(answer_path(path, output).name for path in wanted.paths).items():
        if count > 1:
            raise typer.BadParameter(f"{count} of the tasks would be answered in {name}", param_hint="--output")
    make_folder(output, "--output")


def _keep(sampled: Sampled, output: Path | None) -> bool:
    """Write the program of a task where that is wanted; False where it cannot be written, which is told."""
    if not sampled.solved or output is None:
        return True
    place = answer_path(sampled.path, output)
    try:
        write_atomically(place, impl_to_yaml(sampled.solutions[0]).encode("utf-8"))
    except OSError as error:
        complain(unwritten(place, error))
        return False
    return True


def _rank(sampled: Sampled, text: str) -> list[Beside]:
    """Put the programs with the fewest cycles first; return the timing of each."""
    if not sampled.solved:
        return []
    from stepagents.cli.cycles import ranked, timed_text  # the checker, which workers need not wait for
    from stepcore.cli.beside import TimingWishes

    near = Path(sampled.path)
    wishes = TimingWishes()
    pairs = ranked(sampled.solutions, lambda impl: timed_text(text, sampled.path, near, impl_to_yaml(impl), wishes))
    sampled.solutions = [impl for impl, _timing in pairs]
    return [timing for _impl, timing in pairs]


def _best(timings: Sequence[Beside] | None) -> dict[str, Any] | None:
    return timings[0].as_json() if timings else None


def _show(sampled: Sampled, timings: Sequence[Beside], files: AnswerFiles, *, with_impl: bool, explain: bool) -> None:
    if sampled.problem:
        complain(sampled.problem)
    else:
        print(row_text(sampled, with_impl=with_impl))
    if timings:
        print(f"  cycles: {timings[0].line}")
    if timings and explain:
        from stepagents.cli.cycles import ORDER

        print(f"  {ORDER}")
        for number, timing in enumerate(timings, start=1):
            print(f"  program {number}: cycles: {timing.line}" + (f"; {timing.memory}" if timing.memory else ""))
    path, lines = files.path(sampled), files.lines(sampled)
    if explain:
        print("".join(f"  {line}\n" for line in lines), end="")
    if path is not None:
        print(f"  answers: {one_line(path)}")
    elif lines and not sampled.solved:
        print("  --answers DIR keeps each answer with its verdict")
    sys.stdout.flush()


def _finish(
    wanted: Wanted,
    results: Sequence[Sampled],
    timings: Mapping[str, Sequence[Beside]],
    files: AnswerFiles,
    is_text: bool,
) -> None:
    """Print what is said at the end; JSON in the order in which the files were found."""
    if is_text:
        if len(wanted.paths) > 1:
            spent = any(sampled.input_tokens + sampled.output_tokens for sampled in results)
            took = f"; {spent_on(results)}" if spent else ""
            print(f"{sum(sampled.solved for sampled in results)} of {len(wanted.paths)} solved{took}")
        return
    place = {path: number for number, path in enumerate(wanted.paths)}
    rows = [
        row_json(sampled) | {"answers": str(files.path(sampled) or ""), "timing": _best(timings.get(sampled.path))}
        for sampled in sorted(results, key=lambda s: place[s.path])
    ]
    print(json.dumps(rows, indent=2))
