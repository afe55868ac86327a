"""``stepsmith bench``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepagents.cli import options as o
from stepagents.cli.answer_files import AnswerFiles
from stepagents.cli.learning import open_learning
from stepagents.cli.orders import read_orders
from stepagents.cli.progress import Bar, progress_bar
from stepagents.cli.rows import NOTHING_TRIED
from stepagents.cli.session import (
    First,
    ProposerChoice,
    agree,
    interruptible,
    make_folder,
    open_jobs,
    open_proposer,
    show_requests,
)
from stepagents.llm.options import Guardian
from stepagents.sampling import Order, Sampler
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_UNUSABLE, complain
from stepcore.jobdata.writing import Experience
from stepcore.jobs.proposers import BY_OPTION, SEARCH
from stepcore.text.files import write_atomically
from stepcore.text.wording import as_text, one_line

if TYPE_CHECKING:
    from stepagents.report.runs import Attempt, BenchRun


def bench(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            help="Task files, or folders that hold some; with --compare, saved runs.",
            metavar="TASKS",
            show_default="the current folder",
        ),
    ] = None,
    proposer: o.ProposerOption = SEARCH.typed,
    model: o.ModelOption = None,
    base_url: o.BaseUrlOption = None,
    key_variable: o.KeyVariableOption = None,
    send_to_provider: o.SendOption = None,
    samples: o.SamplesOption = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=10_000, metavar="N", help="Try every task with so many seeds in turn.")
    ] = 1,
    budget_seconds: o.SecondsOption = None,
    budget_tokens: o.TokensOption = None,
    budget_cost: o.CostOption = None,
    price: o.PriceOption = None,
    answers: o.AnswersOption = None,
    show_request: o.ShowRequestOption = False,
    repair: o.RepairOption = 0,
    guardian: o.GuardianOption = Guardian.DETERMINISTIC,
    seed: o.SeedOption = 0,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", metavar="DIR", help="Save the run as JSON, and a report as one HTML file, in this folder."
        ),
    ] = None,
    label: Annotated[str, typer.Option("--label", metavar="NAME", help="What the run is called in reports.")] = "",
    compare: Annotated[
        bool, typer.Option("--compare", help="Run nothing: show the saved runs A.json B.json ... in one report.")
    ] = False,
    executor: o.ExecutorOption = o.ExecutorName.LOCAL,
    ray_address: o.RayAddressOption = None,
    workers: o.WorkersOption = None,
    experience: Annotated[
        o.Learned,
        typer.Option(
            "--experience", help="auto: use what earlier successes with other tasks taught. Nothing is recorded."
        ),
    ] = o.Learned.NONE,
    output_format: o.FormatOption = o.ResultFormat.TEXT,
) -> None:
    """Measure how many tasks are solved: by group, pass@k with confidence intervals, tokens and time.

    A task's group is its name up to the first underscore.
    A sample of pass@k is one search with its own seed, or one answer of a model: a model that writes no programs is
    asked for all of them, as --budget-tokens and --budget-cost allow.

    Exit codes: 0 all tasks are solved, 1 some are not, 2 a file or an option cannot be used, 130 interrupted.
    """
    if compare:
        raise typer.Exit(_compare(tasks or [], save, output_format))
    entry = BY_OPTION[proposer]
    choice = ProposerChoice(
        entry, model, base_url, repair, executor, ray_address, workers, guardian, key_variable, send_to_provider,
        budget_tokens, budget_cost, early_stop=False, price=price, answers=answers,
    )  # fmt: skip
    choice.check()
    wanted = read_orders(tasks or ["."], o.samples_for(entry, samples), o.seconds_for(entry, budget_seconds), seed)
    choice = choice.for_files(order.path for order in wanted.orders)
    for sampled in wanted.unusable:
        complain(sampled.problem)
    if not wanted.orders:
        raise typer.Exit(EXIT_UNUSABLE)
    if show_request:
        with open_learning(experience) as learning:
            show_requests(choice, wanted.orders, learning.demonstrations(entry, wanted.orders))
        raise typer.Exit(EXIT_UNUSABLE if wanted.unusable else EXIT_CLEAN)
    make_folder(save, "--save")
    make_folder(answers, "--answers")
    plan = _Plan(choice, wanted.orders, seeds)
    with interruptible() as stop, open_learning(experience) as learning:
        plan.carry_out(learning.demonstrations(entry, wanted.orders), stop)
    if not plan.attempts and plan.unusable:
        complain(NOTHING_TRIED)
        raise typer.Exit(EXIT_UNUSABLE)
    settings = {
        "samples": wanted.orders[0].samples,
        "seeds": seeds,
        "seed": seed,
        "seconds for each task": wanted.orders[0].seconds,
        "repair rounds": repair if entry.asks else None,
        "guardian": guardian.value if entry.asks else None,
        "experience": experience.value,
        "executor": executor.value,
    }
    run = _run(label, plan, settings, interrupted=stop.is_set())
    _show([run], save, output_format)
    if stop.is_set():
        raise typer.Exit(EXIT_INTERRUPTED)
    if wanted.unusable or plan.unusable:
        raise typer.Exit(EXIT_UNUSABLE)
    raise typer.Exit(EXIT_CLEAN if all(attempt.solved for attempt in plan.attempts) else EXIT_FINDINGS)


@dataclass(slots=True)
class _Plan:
    """Every task with every seed, and what came of it. ``unusable`` are the paths of tasks that cannot be tried."""

    choice: ProposerChoice
    orders: Sequence[Order]
    seeds: int
    name: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    unusable: set[str] = field(default_factory=set)

    def carry_out(self, demonstrations: Sequence[Experience], stop: Event) -> None:
        """Go through the seeds until ``stop`` is set. Whoever has to agree is asked once, for all seeds."""
        self.choice = agree(self.choice, First(self.orders[0], demonstrations))
        files = AnswerFiles(self.choice.answers)
        with open_jobs(self.choice) as executor, progress_bar(len(self.orders) * self.seeds) as bar:
            for number in range(self.seeds):
                if stop.is_set():
                    return
                orders = [
                    replace(order, seed=order.seed + number) for order in self.orders if order.path not in self.unusable
                ]
                parts = [asdict(order) for order in orders]
                with open_proposer(self.choice, executor, parts, stop, heard=files.hear) as sampler:
                    self.name = sampler.name
                    self._sample(sampler, orders, demonstrations, stop, bar, files)

    def _sample(
        self,
        sampler: Sampler,
        orders: Sequence[Order],
        demonstrations: Sequence[Experience],
        stop: Event,
        bar: Bar,
        files: AnswerFiles,
    ) -> None:
        """Sample all orders. What an interruption stopped is left out: it was not tried with its whole budget."""
        from stepagents.report.runs import Attempt

        by_path = {order.path: order for order in orders}
        for sampled in sampler.sample(orders, demonstrations, stop=stop, tell=bar.tell):
            bar.count(sampled)
            files.end(sampled)
            if sampled.problem:
                complain(sampled.problem)
                self.unusable.add(sampled.path)
            elif sampled.solved or not stop.is_set():
                self.attempts.append(Attempt.of(by_path[sampled.path], sampled))


def _run(label: str, plan: _Plan, settings: dict[str, Any], *, interrupted: bool) -> BenchRun:
    from stepagents.report.runs import BenchRun

    created = datetime.now(UTC).isoformat(timespec="seconds")
    of_a_model = plan.choice.proposer.asks
    return BenchRun(as_text(label) or plan.name, plan.name, of_a_model, created, plan.attempts, settings, interrupted)


def _compare(paths: Sequence[str], save: Path | None, output_format: o.ResultFormat) -> int:
    from stepagents.report.runs import UnusableRun, load_run

    if not paths:
        raise typer.BadParameter("name the saved runs: bench --compare A.json B.json", param_hint="--compare")
    make_folder(save, "--save")
    try:
        runs = [load_run(Path(path)) for path in paths]
    except UnusableRun as error:
        complain(str(error))
        return EXIT_UNUSABLE
    _show(runs, save, output_format, is_new=False)
    return EXIT_CLEAN


def _show(runs: Sequence[BenchRun], save: Path | None, output_format: o.ResultFormat, *, is_new: bool = True) -> None:
    """Save a report, with the run itself where it is new; then print, because a closed pipe must cost no results."""
    from stepagents.report.tables import run_text

    report = None if save is None else _save(runs, save, is_new=is_new)
    if output_format is o.ResultFormat.JSON:
        shown = [run.as_json() for run in runs]
        print(json.dumps(shown[0] if is_new else shown, indent=2))
    else:
        print("\n\n".join(run_text(run) for run in runs))
        if report is not None:
            print(f"\nsaved: {one_line(report)}")


def _save(runs: Sequence[BenchRun], folder: Path, *, is_new: bool) -> Path:
    """Write the files and return the path of the report."""
    from stepagents.report.page import report_page

    report = folder / f"{_file_name(runs, folder)}.html"
    if is_new:
        content = json.dumps(runs[0].as_json(), indent=1)
        write_atomically(report.with_name(f"{report.name.removesuffix('.html')}.json"), content.encode("utf-8"))
    write_atomically(report, report_page(runs).encode("utf-8", "backslashreplace"))
    return report


def _file_name(runs: Sequence[BenchRun], folder: Path) -> str:
    """Return a name for the files of runs that is free in ``folder``: their labels and when the last one ended."""
    words = [re.sub(r"[^A-Za-z0-9._-]+", "-", run.label).strip("-.") or "run" for run in runs]
    stamp = re.sub(r"[^0-9]", "", max(run.created for run in runs))[:14]
    name = f"{'-'.join(words)[:80]}-{stamp}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(free for free in names if not (folder / f"{free}.html").exists())
