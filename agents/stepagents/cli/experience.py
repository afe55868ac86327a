"""The commands ``stepsmith experience list|show|export|import|prune``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stepagents.cli.optimization_items import print_items, show_item
from stepagents.cli.options import FormatOption, ResultFormat
from stepagents.experience.database import StoreError
from stepagents.experience.optimizations import remove_items, stored_items
from stepagents.experience.store import Store, StoredExperience
from stepagents.validated import END_OF_TIME
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE, complain, console, output_is_closed, waiting
from stepcore.printing.task import impl_to_yaml
from stepcore.reports.text import clean
from stepcore.settings.data_folder import STORE_VARIABLE
from stepcore.text.files import write_atomically
from stepcore.text.wording import one_line

_MOST_REASONS: Final = 20  # refused lines that are told one by one
_MOST_BYTES: Final = 100_000_000  # of one import
_MOST_LINES: Final = 100_000

app = typer.Typer(
    name="experience",
    help="Verified programs, and what made programs faster: demonstrations for models, a prior for the searches.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="PATH", help=f"The store; else {STORE_VARIABLE}, else one file of the user."),
]
WorkspaceOption = Annotated[
    str, typer.Option("--workspace", metavar="DIR", help="Whose experience; the current folder's by default.")
]
AllOption = Annotated[bool, typer.Option("--all-workspaces", help="The experience of all workspaces.")]
TaskOption = Annotated[str | None, typer.Option("--task", metavar="NAME", help="Only that of the tasks of this name.")]


class ExperienceKind(StrEnum):
    """What the store holds."""

    SYNTHESIS = "synthesis"
    OPTIMIZATION = "optimization"


KindOption = Annotated[
    ExperienceKind,
    typer.Option("--kind", help="synthesis: programs that solve tasks; optimization: what made programs faster."),
]


CodeOption = Annotated[
    bool, typer.Option("--with-code", help="Of optimization memory: with the lines that changed, and strategies.")
]


@contextmanager
def open_store(path: Path | None, workspace: str, every: bool = False) -> Iterator[Store]:
    """Open the store that the options name; what makes it unusable ends the command with one message."""
    try:
        with Store(path, None if every else _absolute(workspace)) as store:
            yield store
    except StoreError as error:
        complain(str(error))
        raise typer.Exit(EXIT_UNUSABLE) from error


def _absolute(workspace: str) -> str:
    return str(Path(workspace).absolute()) if workspace else ""


@app.command("list")
def list_(
    task: TaskOption = None,
    store: StoreOption = None,
    workspace: WorkspaceOption = "",
    every: AllOption = False,
    output: FormatOption = ResultFormat.TEXT,
    kind: KindOption = ExperienceKind.SYNTHESIS,
) -> None:
    """List what is stored."""
    if kind is ExperienceKind.OPTIMIZATION:
        _no_task(task)
        with open_store(store, workspace, every) as opened:
            items = stored_items(opened)
        if output is ResultFormat.JSON:
            print(json.dumps([each.as_json() for each in items], indent=2))
        elif items:
            print_items(items)
        else:
            print("no optimization memory yet: `stepsmith optimize` earns some")
        return
    with open_store(store, workspace, every) as opened:
        found = opened.all(task)
    if output is ResultFormat.JSON:
        print(json.dumps([_as_json(item) for item in found], indent=2))
    elif found:
        _print_table(found, every)
    else:
        print("no experience yet: `stepsmith improve TASKS` earns some")


@app.command()
def show(
    number: Annotated[int, typer.Argument(help="The number that `list` shows.")],
    store: StoreOption = None,
    workspace: WorkspaceOption = "",
    every: AllOption = False,
    output: FormatOption = ResultFormat.TEXT,
    kind: KindOption = ExperienceKind.SYNTHESIS,
) -> None:
    """Show one experience: its task, its program, and what it took to earn it."""
    if kind is ExperienceKind.OPTIMIZATION:
        _show_item(number, store, workspace, every, output)
        return
    with open_store(store, workspace, every) as opened:
        found = opened.get(number)
    if found is None:
        complain(f"no experience has the number {number} here; `stepsmith experience list` shows them")
        raise typer.Exit(EXIT_UNUSABLE)
    if output is ResultFormat.JSON:
        print(json.dumps({**_as_json(found), "task_text": found.experience.task_text}, indent=2))
        return
    experience = found.experience
    task, proposer = one_line(experience.task), one_line(experience.proposer)
    print(
        f"# {task}: {experience.success_rate:.3g} of the answers were right, {experience.tokens:,} tokens, "
        f"{experience.cost:.4f} $, {experience.seconds:.1f} s, by {proposer}, {_when(found.earned)}"
    )
    print(clean(experience.task_text.rstrip("\n")))
    print(clean(impl_to_yaml(experience.impl)), end="")


@app.command()
def export(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="File to write; else standard output.")] = None,
    task: TaskOption = None,
    store: StoreOption = None,
    workspace: WorkspaceOption = "",
    every: AllOption = False,
    kind: KindOption = ExperienceKind.SYNTHESIS,
    with_code: CodeOption = False,
) -> None:
    """Write experience as JSON lines. They hold tasks and programs, but no paths of this machine.

    Optimization memory holds no code, unless it was kept and --with-code is given.
    """
    from stepagents.experience.item_transfer import export_items
    from stepagents.experience.transfer import export_lines

    with open_store(store, workspace, every) as opened:
        if kind is ExperienceKind.OPTIMIZATION:
            _no_task(task)
            found = list(export_items(stored_items(opened), with_code=with_code))
        else:
            found = list(export_lines(opened.all(task)))
        is_store = file is not None and file.exists() and opened.path.exists() and file.samefile(opened.path)
    lines = "".join(f"{line}\n" for line in found)
    if is_store:
        complain(f"{one_line(file)}: this is the store itself, which the export would replace; name another file")
        raise typer.Exit(EXIT_UNUSABLE)
    if file is None:
        print(lines, end="")
    else:
        write_atomically(file, lines.encode("utf-8"))
        print(f"{lines.count(chr(10))} written to {one_line(file)}")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines as `export` writes them; - for stdin.")],
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Run every program on fresh data; else it is only checked.")
    ] = True,
    store: StoreOption = None,
    workspace: WorkspaceOption = "",
    output: FormatOption = ResultFormat.TEXT,
    kind: KindOption = ExperienceKind.SYNTHESIS,
    with_code: CodeOption = False,
) -> None:
    """Add experience from a file; exit 1 if some of it was refused. Nothing unverified becomes experience.

    Optimization memory only says what to try first: what comes of it is timed and verified in any case.
    """
    from stepagents.executors.opening import open_executor
    from stepagents.experience.item_transfer import import_items
    from stepagents.experience.transfer import import_lines
    from stepagents.experience.verifying import verified

    lines = _lines(file)
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store, workspace))
        if kind is ExperienceKind.OPTIMIZATION:
            done = import_items(opened, lines, with_code=with_code)
        else:
            stack.enter_context(waiting("verifying"))
            executor = stack.enter_context(open_executor()) if verify else None
            verifier = (lambda found: verified(executor, found, output_is_closed)) if executor is not None else None
            done = import_lines(opened, lines, verifier)
    if output is ResultFormat.JSON:
        refused = [{"line": number, "reason": why} for number, why in done.refused]
        print(json.dumps({"added": done.added, "known": done.known, "refused": refused}, indent=2))
    else:
        for number, why in done.refused[:_MOST_REASONS]:
            complain(f"{one_line(file)}:{number}: {why}")
        print(f"{done.added} added, {done.known} known already, {len(done.refused)} refused", end="")
        reasons = ", ".join(f"{count} {one_line(kind)}" for kind, count in done.reasons().most_common())
        print(f" ({reasons})" if reasons else "")
    raise typer.Exit(EXIT_FINDINGS if done.refused else EXIT_CLEAN)


@app.command()
def prune(
    days: Annotated[
        float | None, typer.Option("--older-than", min=0, metavar="DAYS", help="What was earned longer ago.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, metavar="N", help="All but the N shortest programs of each task.")
    ] = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="What belongs to task files that were removed or changed.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    store: StoreOption = None,
    workspace: WorkspaceOption = "",
    every: AllOption = False,
    kind: KindOption = ExperienceKind.SYNTHESIS,
) -> None:
    """Remove experience by age, by number for each task, or because its task is gone."""
    from stepagents.experience.pruning import DAY, Rules, superfluous

    if days is None and keep is None and not gone:
        raise typer.BadParameter("prune removes nothing unasked: give --older-than, --keep or --gone")
    if kind is ExperienceKind.OPTIMIZATION:
        if days is None or keep is not None or gone:
            raise typer.BadParameter("optimization memory is pruned by age alone: give --older-than")
        with open_store(store, workspace, every) as opened:
            old = [each for each in stored_items(opened) if time.time() - each.seen > days * DAY]
            count = len(old) if dry_run else remove_items(opened, [each.number for each in old])
        print(f"{count} would be removed" if dry_run else f"{count} removed")
        return
    with open_store(store, workspace, every) as opened:
        found = superfluous(opened.all(), Rules(days, keep, gone), time.time())
        removed = 0 if dry_run else opened.remove([item.number for item in found])
    if found and dry_run:
        _print_table(found, every)
    print(f"{len(found)} would be removed" if dry_run else f"{removed} removed")


def _no_task(task: str | None) -> None:
    if task is not None:
        raise typer.BadParameter("optimization memory belongs to no task", param_hint="--task")


def _show_item(number: int, store: Path | None, workspace: str, every: bool, output: ResultFormat) -> None:
    with open_store(store, workspace, every) as opened:
        found = next((each for each in stored_items(opened) if each.number == number), None)
    if found is None:
        complain(f"no item has the number {number} here; `stepsmith experience list --kind optimization` shows them")
        raise typer.Exit(EXIT_UNUSABLE)
    if output is ResultFormat.JSON:
        print(json.dumps(found.as_json(), indent=2))
    else:
        show_item(found)


def _lines(file: Path) -> list[str]:
    """Return the lines to import; a file of any size, or one that never ends, is read up to a bound."""
    data = sys.stdin.buffer.read(_MOST_BYTES + 1) if str(file) == "-" else _content(file)
    if len(data) > _MOST_BYTES or data.count(b"\n") > _MOST_LINES:
        most = f"over {_MOST_BYTES // 1_000_000} MB or {_MOST_LINES:,} lines"
        complain(f"{one_line(file)}: {most}: nothing was imported; split the file, and import its parts")
        raise typer.Exit(EXIT_UNUSABLE)
    try:
        # Only line feeds end a line: JSON may hold other separators as they are.
        return data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        complain(
            f"{one_line(file)}: the file is no text in UTF-8 (byte {error.start}); name a file that `export` wrote"
        )
        raise typer.Exit(EXIT_UNUSABLE) from error


def _content(file: Path) -> bytes:
    if file.exists() and not file.is_file():  # a device may never end
        way_out = "name a file that `export` wrote, or - for standard input"
        complain(f"{one_line(file)}: the path leads to no regular file; {way_out}")
        raise typer.Exit(EXIT_UNUSABLE)
    with file.open("rb") as opened:
        return opened.read(_MOST_BYTES + 1)


def _as_json(item: StoredExperience) -> dict[str, Any]:
    experience = item.experience
    return {
        "number": item.number,
        "task": experience.task,
        "path": item.path,
        "workspace": item.workspace,
        "proposer": experience.proposer,
        "success_rate": experience.success_rate,
        "tokens": experience.tokens,
        "cost": experience.cost,
        "seconds": experience.seconds,
        "earned": _when(item.earned),
        "impl": experience.impl,
    }


def _when(seconds: float) -> str:
    if not 0 <= seconds < END_OF_TIME:  # of a store that somebody else wrote
        return "at no date"
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _print_table(found: Sequence[StoredExperience], with_workspace: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    headings = ["number", "task", "success rate", "proposer", "tokens", "seconds", "operators", "earned"]
    for heading in headings + (["workspace"] if with_workspace else []):
        table.add_column(heading, justify="left" if heading in {"task", "proposer", "earned"} else "right")
    for item in found:
        experience = item.experience
        cells = [
            str(item.number), experience.task, f"{experience.success_rate:.3g}", experience.proposer,
            f"{experience.tokens:,}", f"{experience.seconds:.1f}", str(experience.impl.count("step.")),
            _when(item.earned), *([item.workspace] if with_workspace else []),
        ]  # fmt: skip
        table.add_row(*(escape(one_line(cell)) for cell in cells))
    console().print(table)
