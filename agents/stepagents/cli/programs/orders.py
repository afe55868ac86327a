"""Options and programs of the commands that make programs faster: which files, for which chip, towards what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import join, quote
from threading import Event
from typing import Annotated, Final

import typer

from stepagents.cli.options import ExecutorName
from stepagents.cli.programs.answered import AnsweredTask, answered_task
from stepagents.cli.session import open_workers
from stepagents.executors.executor import Executor, available_cpus
from stepagents.executors.opening import ExecutorChoice
from stepagents.optimize.candidates import Goal, OptimizeTarget
from stepagents.optimize.outcome import Optimized
from stepcore.chips.chosen import Chips
from stepcore.chips.keys import HardwareError
from stepcore.cli.targets import FileTarget, answer_to, find_targets, no_program, read_target
from stepcore.cli.terminal import complain
from stepcore.cli.time import unusable_chip
from stepcore.cycles.bounds import COMPUTE
from stepcore.findings.diagnostics import Severity
from stepcore.records import Record
from stepcore.reports.text import clean
from stepcore.rewrites import RewriteSubject
from stepcore.settings.config import Config, ConfigError, Configs
from stepcore.text.files import Unusable
from stepcore.text.places import WritingPlace, place_of
from stepcore.text.wording import one_line

_MOST: Final = 1 << 50  # bytes, FLOPs per cycle
_DIGITS: Final = 24  # of an amount
_SCRIPT: Final = (
    "this script has no program whose lines could be rewritten; put its operators into a function with @step.program"
)

_UNITS: Final = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}  # fmt: skip
_AMOUNT: Final = re.compile(r"([\d,]+(?:\.\d+)?) *([kmg]?i?b|)", re.IGNORECASE | re.ASCII)


def bytes_of(text: str) -> int:
    """Return the bytes of an amount such as `16 MB`, `512 KiB` or `900000`, as the editor's settings spell them too.

    Raises:
        typer.BadParameter: it is none, or nothing that a chip has.
    """
    found = _AMOUNT.fullmatch(text.strip())
    unit = None if found is None else _UNITS.get(found[2].lower())
    digits = "" if found is None else found[1].replace(",", "")
    if unit is None or not digits or len(digits) > _DIGITS or not 1 <= (amount := round(float(digits) * unit)) <= _MOST:
        raise typer.BadParameter(
            f"{text!r} is no amount of memory on chip: write bytes, or 16 MB, 512 KiB (from 1 byte to {_MOST:,})"
        )
    return amount


ProgramsArgument = Annotated[
    list[str], typer.Argument(metavar="FILE[::PROGRAM]...", help="Programs, files or folders.")
]
HwOption = Annotated[str | None, typer.Option("--hw", metavar="NAME|FILE", help="The chip, instead of the project's.")]
CapacityOption = Annotated[
    int | None,
    typer.Option("--capacity", parser=bytes_of, metavar="BYTES", help="Bytes on chip, at most, such as `16 MB`.",
                 show_default="the chip's, or no limit"),
]  # fmt: skip
ComputeOption = Annotated[
    int, typer.Option("--compute", min=1, max=_MOST, metavar="FLOPS", help="FLOPs per cycle of all units together.")
]
GoalOption = Annotated[
    Goal, typer.Option("--goal", help="The fewest cycles; the fewest bytes on chip without more cycles; or the front.")
]
ImplOption = Annotated[
    str | None,
    typer.Option("--impl", metavar="FILE|DIR", help="The answer, or a folder with NAME.impl.yaml for each task."),
]


class TargetWish(Record):
    """What programs are made faster for, as the command line says it; ``impl`` names answers to tasks."""

    hw: str | None
    capacity: int | None
    compute: int
    goal: Goal
    impl: str | None = None

    def explaining(self, path: str, program: str) -> str:
        """Return the call that tells where each rewrite applies in a program, and why not elsewhere."""
        chip = [] if self.hw is None else ["--hw", self.hw]
        compute = [] if self.compute == COMPUTE else ["--compute", str(self.compute)]
        impl = [] if self.impl is None else ["--impl", self.impl]
        return join(["stepsmith", "optimize", "--explain", *chip, *compute, *impl, f"{path}::{program}"])


class ProgramOrder(Record):
    """One program of a file; ``subject`` is None where it has errors, of which ``fault`` is the first one.

    ``answer`` is where the program of a task stands if not in ``path``; ``text`` is then the task with it.
    """

    path: Path
    name: str
    text: str
    config: Config
    subject: RewriteSubject | None
    target: OptimizeTarget
    answer: AnsweredTask | None = None
    fault: str = ""

    @property
    def erroneous(self) -> Optimized:
        """What comes of an order without a subject."""
        how = "check" if self.answer is None else f"verify --impl {quote(self.answer.file.path)}"
        path = quote(str(self.path))
        first = f", the first one at {self.fault}" if self.fault else ""
        problem = f"it has errors{first}: run `stepsmith {how} {path}`"
        return Optimized(str(self.path), self.name, self.target.chip.name, self.text, problem=problem)


class ProgramOrders:
    """The programs of one call, one after the other; what cannot be used is told, and counted in ``unusable``."""

    def __init__(self, wish: TargetWish) -> None:
        self.wish = wish
        self.configs, self._chips = Configs(), Chips()
        self.unusable = 0
        self._places: dict[Path, WritingPlace] = {}

    def each(self, texts: list[str], stop: Event) -> Iterator[ProgramOrder]:
        """Yield each program that is meant; a file is read again for each of its programs."""
        targets = list(find_targets(texts))
        for target in targets:
            if isinstance(target, FileTarget):
                with suppress(OSError):  # reading it says what is wrong with it
                    self.place(target.path)
        for target in targets:
            try:
                yield from self._file(target, stop)
            except Unusable as error:
                self.refuse(f"{one_line(error.path)}: {error.code} {error.message}")
            except HardwareError as error:
                self.refuse(unusable_chip(error))
            except ConfigError as error:
                self.refuse(f"STEP907 the user's configuration cannot be used: {error}")

    def refuse(self, text: str) -> None:
        """Tell that something cannot be used."""
        complain(clean(text))
        self.unusable += 1

    def place(self, path: Path) -> WritingPlace:
        """Return where a file is written: as its path led when it was first asked for, before any function ran.

        Raises:
            OSError: it leads nowhere.
        """
        if path not in self._places:
            self._places[path] = place_of(path)
        return self._places[path]

    def _file(self, target: FileTarget | Unusable, stop: Event) -> Iterator[ProgramOrder]:
        if isinstance(target, Unusable):
            raise target
        text, config, _answer = self._read(target)
        from stepcore.check import check_text

        result = check_text(text, str(target.path), affine=config.affine, with_fixes=False)
        names = [program.name for program in result.programs if target.program in (None, program.name)]
        if not names:
            if result.script is not None and not result.programs:
                raise Unusable(target.path, _SCRIPT, "STEP910")
            raise no_program(target, result, [program.name for program in result.programs])
        for name in dict.fromkeys(names):
            if stop.is_set():
                return
            text, config, answer = self._read(target)  # `optimize --apply` may have changed it
            yield self._order(target.path, text, name, config, answer)

    def _read(self, target: FileTarget) -> tuple[str, Config, AnsweredTask | None]:
        """Return the text of a file, with the answer of ``--impl`` in it."""
        file, config = read_target(target, self.configs)
        if self.wish.impl is None:
            return file.text, config, None
        answer = answered_task(file.text, str(target.path), answer_to(target, self.wish.impl))
        return answer.text, config, answer

    def _order(self, path: Path, text: str, name: str, config: Config, answer: AnsweredTask | None) -> ProgramOrder:
        from stepcore.rewrites import subject_of

        wish, chip = self.wish, self._chips.chip(config, self.wish.hw)
        capacity = chip.onchip.capacity if wish.capacity is None else wish.capacity
        target = OptimizeTarget(chip, wish.compute, capacity, wish.goal, only_impl=answer is not None)
        subject = subject_of(text, str(path), name, config.affine)
        fault = "" if subject is not None else _first_fault(text, str(path), name, config, answer)
        return ProgramOrder(path, name, text, config, subject, target, answer, fault)


def _first_fault(text: str, path: str, name: str, config: Config, answer: AnsweredTask | None) -> str:
    """Return where the first error of a program stands, and what it is; "" where no finding says why it cannot run."""
    from stepcore.check import check_text
    from stepcore.check.files import program_faults

    result = check_text(text, path, affine=config.affine, with_fixes=False)
    programs = [each for each in result.programs if each.name == name]
    found = [fault for each in programs for fault in (*each.diagnostics, *program_faults(result, each))]
    errors = (fault for fault in found if fault.severity is Severity.ERROR)
    first = min(errors, key=lambda fault: fault.span.start, default=None)
    if first is None:
        return ""
    line, column = (place + 1 for place in result.source.line_col(first.span.start))
    line = line if answer is None else answer.line(line)
    return f"line {line}, column {column}: {first.code} {one_line(first.message)}"


@contextmanager
def open_timers(executor: ExecutorName, choice: ExecutorChoice) -> Iterator[Executor | None]:
    """Start workers that time candidates, as many as there are CPUs; a single one is this process."""
    if executor is ExecutorName.LOCAL and not choice.ray_address and (choice.workers or available_cpus()) == 1:
        yield None
        return
    with open_workers(executor, choice) as workers:
        yield workers
