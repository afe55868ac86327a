"""The table of commands and their options; what they do stands in one module each."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from stepcore.cli.points import entry_points as _entry_points
from stepcore.cli.quick import MAX_FINDINGS
from stepcore.cli.sizes import parse_dims
from stepcore.settings.limits import Wishes
from stepcore.version import VERSION


class AffineChoice(StrEnum):
    """Which affine rule is checked."""

    STRICT = "strict"
    PAPER = "paper"


class CheckFormat(StrEnum):
    """Formats of ``check``."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class Format(StrEnum):
    """Formats of the other commands."""

    TEXT = "text"
    JSON = "json"


class Language(StrEnum):
    """The two ways to write a program."""

    YAML = "yaml"
    PYTHON = "python"


class Commands(TyperGroup):
    """Our commands, and those of other packages: these are looked for only when they are needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names for ``--help``."""
        return [*super().list_commands(ctx), *sorted(set(_entry_points()) - set(self.commands))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one command, loading it from its package if it is none of ours."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in (points := _entry_points()):
            found = _load(points[cmd_name])
        return found


def _load(point: Any) -> Any:
    """Return the command of an entry point: a ``typer.Typer``, or a function with typer's annotations."""
    loaded = point.load()
    if isinstance(loaded, typer.Typer):
        command = typer.main.get_command(loaded)
    else:
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name=point.name)(loaded)
        command = typer.main.get_command(single)
    command.name = point.name
    return command


app = typer.Typer(
    cls=Commands,
    name="stepsmith",
    help="Check, fix, verify and simulate Streaming Tensor Programs (STeP).",
    epilog="Exit codes: 0 all well, 1 findings or not accepted, 2 unusable input, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

AffineOption = Annotated[
    AffineChoice | None,
    typer.Option("--affine", help="Affine rule: strict (the default) or paper (that of published results)."),
]
ImplOption = Annotated[
    str | None,
    typer.Option("--impl", metavar="FILE|DIR", help="The answer, or a folder with NAME.impl.yaml for each task."),
]
DimsOption = Annotated[
    str | None, typer.Option("--dims", metavar="M=64,N=64", help="Bind sizes, separated by commas.", show_default=False)
]
SeedOption = Annotated[
    int, typer.Option("--seed", min=-(2**63), max=2**64 - 1, show_default="42", help="Seed of the test data.")
]
TimeOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        min=0.1,
        max=7 * 86400,
        metavar="SECONDS",
        show_default="60",
        help="For each program; a project's file may only lower it.",
    ),
]
MemoryOption = Annotated[
    int | None,
    typer.Option(
        "--memory-limit",
        min=64,
        max=1 << 24,
        metavar="MIB",
        show_default="4096",
        help="For each worker; a project's file may only lower it.",
    ),
]
NetworkOption = Annotated[
    bool | None,
    typer.Option("--network/--no-network", show_default="no", help="Whether functions of Python files have network."),
]
ChipOption = Annotated[
    str | None,
    typer.Option(
        "--hw", metavar="NAME|FILE", show_default=False, help="A chip instead of the project's; see `stepsmith hw`."
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"stepsmith {VERSION}")
        raise typer.Exit


@app.callback()
def _common(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and what workers print.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if debug:
        import logging

        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(name)s: %(message)s")
        logging.getLogger("asyncio").setLevel(logging.INFO)


@app.command()
def check(
    paths: Annotated[list[str], typer.Argument(help="Files, folders, or - for standard input.", metavar="PATH...")],
    fix: Annotated[bool, typer.Option("--fix", help="Insert the missing Copy operators into the files.")] = False,
    affine: AffineOption = None,
    output: Annotated[CheckFormat, typer.Option("--format", help="Output format.")] = CheckFormat.TEXT,
    large: Annotated[bool, typer.Option("--large", help="Check files over 5 MB or 100,000 lines, too.")] = False,
    stdin_name: Annotated[
        str, typer.Option("--stdin-name", help="Name of standard input; its suffix tells the language.")
    ] = "stdin.step.yaml",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show the summary only.")] = False,
    max_findings: Annotated[
        int, typer.Option("--max-findings", min=0, help="Show at most so many findings of a file as text; 0 shows all.")
    ] = MAX_FINDINGS,
) -> None:
    """Report affine, type and function mistakes; exit 1 on errors and warnings (hints are shown only)."""
    from stepcore.cli.check import run
    from stepcore.cli.quick import CheckOptions

    rule = affine.value if affine is not None else None
    options = CheckOptions(fix, rule, output.value, large, stdin_name, quiet, max_findings)
    raise typer.Exit(run(paths, options))


@app.command()
def verify(
    tasks: Annotated[list[str], typer.Argument(help="Task files, Python files, FILE::PROGRAM, or folders.")],
    impl: ImplOption = None,
    affine: AffineOption = None,
    dims: DimsOption = None,
    seed: SeedOption = 42,
    output: FormatOption = Format.TEXT,
    time_limit: TimeOption = None,
    memory_limit: MemoryOption = None,
    network: NetworkOption = None,
) -> None:
    """Run programs against their references; exit 0 only if all are accepted."""
    from stepcore.cli.verify import VerifyOptions, run

    rule, wishes = affine.value if affine is not None else None, Wishes(time_limit, memory_limit, network)
    raise typer.Exit(run(tasks, VerifyOptions(impl, rule, parse_dims(dims), seed, output.value, wishes)))


@app.command()
def simulate(
    program: Annotated[str, typer.Argument(metavar="FILE[::PROGRAM]", help="A task file, or a Python program.")],
    dims: DimsOption = None,
    seed: SeedOption = 42,
    values: Annotated[int, typer.Option("--values", min=0, max=10_000, help="How many values of each stream.")] = 8,
    timing: Annotated[bool, typer.Option("--timing", help="Show the cycles, too, as `stepsmith time`.")] = False,
    hw: ChipOption = None,
    output: FormatOption = Format.TEXT,
    time_limit: TimeOption = None,
    memory_limit: MemoryOption = None,
    network: NetworkOption = None,
) -> None:
    """Run one program on test data and show every stream, operator and metric."""
    from stepcore.cli.simulate import run

    wishes = Wishes(time_limit, memory_limit, network)
    sizes = parse_dims(dims)
    raise typer.Exit(run(program, sizes, seed, values, output.value, wishes, timing=timing or hw is not None, hw=hw))


@app.command()
def convert(
    file: Annotated[str, typer.Argument(metavar="FILE[::PROGRAM]", help="A task file, or a Python program.")],
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="OUT", help="File to write; else stdout.")] = None,
    to: Annotated[Language | None, typer.Option("--to", help="Target; the other language by default.")] = None,
) -> None:
    """Convert a program between task YAML and Python."""
    from stepcore.cli.convert import run

    raise typer.Exit(run(file, out, to.value if to is not None else None))


@app.command()
def time(
    files: Annotated[
        list[str] | None, typer.Argument(help="Task files, Python files, FILE::PROGRAM, or folders.")
    ] = None,
    hw: ChipOption = None,
    fluid: Annotated[bool, typer.Option("--fluid", help="Estimate what memory does; quicker.")] = False,
    dims: DimsOption = None,
    trace: Annotated[
        str | None,
        typer.Option("--trace", metavar="OUT.json", help="Write what happened when, for Chrome and Perfetto."),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option("--compare", metavar="A B", help="Two programs side by side, or the files on two chips."),
    ] = None,
    what_if: Annotated[bool, typer.Option("--what-if", help="Show what better chips would bring, too.")] = False,
    impl: ImplOption = None,
    output: Annotated[CheckFormat, typer.Option("--format", help="Output format.")] = CheckFormat.TEXT,
) -> None:
    """Show how many cycles programs take on a chip, where they go, and what stops."""
    from stepcore.cli.time import TimeOptions, run

    options = TimeOptions(hw, fluid, parse_dims(dims), output.value, trace, compare, what_if, impl)
    raise typer.Exit(run(files or [], options))


@app.command()
def hw(
    name: Annotated[str | None, typer.Argument(metavar="NAME|FILE", help="A chip; all of them by default.")] = None,
    differing: Annotated[
        str | None, typer.Option("--hw", metavar="FILE", help="Show in what the chip of a file differs from its base.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show the chips on which programs can be timed, and which one is in force here."""
    from stepcore.cli.chips import show

    raise typer.Exit(show(name, output.value, differing))


@app.command()
def explain(
    subject: Annotated[str, typer.Argument(help="A code such as STEP101, or a section such as affine-rule.")],
) -> None:
    """Explain a diagnostic code (what, why, a wrong and a right example), or show a section of the language page."""
    from stepcore.cli.reference import explain as run

    raise typer.Exit(run(subject))


@app.command()
def ops(
    name: Annotated[str | None, typer.Argument(help="An operator; all of them by default.")] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show the operators of the language, or everything about one."""
    from stepcore.cli.reference import ops as run

    raise typer.Exit(run(name, output.value))


@app.command()
def doctor(output: FormatOption = Format.TEXT) -> None:
    """Say what is installed, what is missing, and what to do."""
    from stepcore.cli.doctor import run

    raise typer.Exit(run(output.value))
