"""A composition's cycles: its programs run one after the other, each at the sizes of the tensors that it is given.

Between two programs there are tensors off chip, and nothing overlaps: the cycles of the lines are added. What it takes
to load the next program into the chip is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stepcore.check.compositions import CheckedComposition, sizes_at
from stepcore.check.files import CheckResult, composition_faults
from stepcore.check.programs import Checked
from stepcore.check.sized import at_dims
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.report import BAR, TimedFile, as_brief, moved_text, percent, summary
from stepcore.cycles.timed import STEPS, time_program
from stepcore.findings.diagnostics import StepError
from stepcore.jobdata.choices import AffineRule, TimingEngine
from stepcore.sizes.dim import DEFAULT_SIZES
from stepcore.text.span import SourceFile
from stepcore.text.wording import counted, one_line
from stepcore.timing.hardware import Hardware
from stepcore.timing.recorder import RunRecorder


@dataclass(frozen=True, slots=True)
class ComposedLine:
    """A line of a composition: a program at ``sizes`` that are not its own, and what it did where that was recorded."""

    program: str
    sizes: Mapping[str, int]
    file: TimedFile
    recorder: RunRecorder | None = None

    @property
    def cycles(self) -> int:
        """The cycles of the program, up to the stop where it does not come to its end."""
        return self.file.timed.timing.cycles

    @property
    def title(self) -> str:
        """The program, and where it is not at its own sizes, those."""
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{self.program} at {sizes}" if sizes else self.program


@dataclass(frozen=True, slots=True)
class ComposedFile:
    """A timed composition of the file ``path``; it has at least one line."""

    path: str
    name: str
    lines: tuple[ComposedLine, ...]

    @property
    def stopped(self) -> ComposedLine | None:
        """The first line that does not come to its end."""
        return next((line for line in self.lines if line.file.timed.cycles is None), None)

    @property
    def cycles(self) -> int | None:
        """The cycles of all lines together; None where one stops."""
        return None if self.stopped is not None else sum(line.cycles for line in self.lines)

    @property
    def longest(self) -> ComposedLine:
        """The line whose program takes longest, all times that it runs at these sizes together."""
        return max(self.lines, key=self.taken)

    @property
    def different(self) -> tuple[ComposedLine, ...]:
        """The lines that differ from all before."""
        return tuple({id(line): line for line in self.lines}.values())

    def taken(self, line: ComposedLine) -> int:
        """Return the cycles of all lines that are the same."""
        return sum(other.cycles for other in self.lines if other is line)

    @property
    def off_chip_bytes(self) -> int:
        """Bytes that all lines move."""
        return sum(line.file.timed.off_chip_bytes for line in self.lines)

    @property
    def on_chip(self) -> int | None:
        """Bytes on chip of the line that needs most; None where nobody knows those of one."""
        known = [line.file.timed.on_chip for line in self.lines]
        return max((size for size in known if size is not None), default=None) if None not in known else None

    @property
    def bandwidth_share(self) -> float:
        """The share of the memory's bandwidth that was used."""
        could = sum(line.cycles for line in self.lines) * self.lines[0].file.timed.hardware.memory.bandwidth
        return self.off_chip_bytes / could if could else 0.0


@dataclass(frozen=True, slots=True)
class ComposedSubject:
    """What is timed: a composition, and the programs of its file by their names, each with what was found for it.

    ``path`` and ``source`` are those of the file that is told. ``is_right`` is False where the file has errors that
    concern it.
    """

    composition: CheckedComposition
    programs: Mapping[str, tuple[CheckResult, Checked]]
    path: str
    source: SourceFile
    affine: AffineRule
    is_right: bool = True


def subjects(result: CheckResult, path: str, affine: AffineRule) -> Iterator[ComposedSubject]:
    """Yield the compositions of a file that was checked."""
    programs = {program.name: (result, program) for program in result.programs}
    for composition in result.compositions:
        is_right = not composition.errors and not composition_faults(result, composition)
        yield ComposedSubject(composition, programs, path, result.source, affine, is_right)


def composition_at(composition: CheckedComposition, dims: Mapping[str, int]) -> CheckedComposition:
    """Return a composition at other sizes.

    Raises:
        StepError: STEP907 for a name that no size of it has.
    """
    known = {**DEFAULT_SIZES, **composition.sizes}
    for name in dims:
        if name not in known:
            there = ", ".join(sorted(known))
            raise StepError("STEP907", f"--dims sets {name}, but no size is called so; there are {there}")
    return replace(composition, sizes={**composition.sizes, **dims}) if dims else composition


def time_composition(
    subject: ComposedSubject,
    chip: Hardware,
    engine: TimingEngine = "exact",
    budget: int = STEPS,
    *,
    record: bool = False,
) -> ComposedFile:
    """Time a composition; lines that are the same are timed once, and all of them within ``budget`` steps of units.

    Raises:
        NotTimed: it has errors, or one of its programs cannot be timed; the message says which.
    """
    composition = subject.composition
    if composition.text is None or not subject.is_right:
        raise NotTimed(f"{composition.name} has errors: run `stepsmith check`")
    if not composition.text.calls:
        raise NotTimed(f"{composition.name} applies no program")
    known: dict[tuple[str, tuple[tuple[str, int], ...]], ComposedLine] = {}
    lines: list[ComposedLine] = []
    for call in composition.text.calls:
        if call.program not in subject.programs:
            raise NotTimed(f"{call.program} is not known")
        result, program = subject.programs[call.program]
        sizes = sizes_at(composition, call, program.spec)
        key = call.program, tuple(sizes.items())
        if key not in known:
            spent = sum(line.file.timed.timing.instructions for line in known.values())
            recorder = RunRecorder() if record else None
            file = _timed(subject, result, program, sizes, chip, engine, max(budget - spent, 0), recorder)
            known[key] = ComposedLine(call.program, sizes, file, recorder)
        lines.append(known[key])
    return ComposedFile(subject.path, composition.name, tuple(lines))


def _timed(
    subject: ComposedSubject,
    result: CheckResult,
    program: Checked,
    sizes: Mapping[str, int],
    chip: Hardware,
    engine: TimingEngine,
    budget: int,
    recorder: RunRecorder | None,
) -> TimedFile:
    try:
        sized = at_dims(result, program, sizes, subject.affine)
        timed = time_program(sized, chip, engine, budget, recorder=recorder)
    except StepError as error:
        raise NotTimed(f"{program.name}: {error.message}") from error
    except NotTimed as error:
        raise NotTimed(f"{program.name}: {error}") from error
    return TimedFile(subject.path, subject.source, timed)


def composed_summary(file: ComposedFile) -> str:
    """Return one line: cycles, chip, the longest program; or which one stops, and what cures that."""
    stopped = file.stopped
    if stopped is not None:
        return f"{stopped.title}: {summary(stopped.file)}"
    total, longest, timed = file.cycles or 0, file.longest, file.lines[0].file.timed
    about = "~" if timed.engine == "fluid" else ""
    several = f"{len(file.lines)} programs one after the other, " if len(file.lines) > 1 else ""
    share = percent(file.taken(longest) / max(total, 1))
    return f"{about}{total:,} on {timed.hardware.name}, {several}{share} of them {longest.title}"


def composed_line(file: ComposedFile) -> str:
    """Return what stands above a composition in an editor: cycles, how many programs, and the longest of them."""
    stopped = file.stopped
    if stopped is not None:
        depths = " and ".join(f"depth {depth} of {name}" for name, depth in stopped.file.cures)
        cure = f": {depths} cures it" if depths else ""
        return f"{stopped.title} stops at cycle {stopped.cycles:,}{cure}"
    total, longest = file.cycles or 0, file.longest
    about = "~" if file.lines[0].file.timed.engine == "fluid" else ""
    share = f"{longest.title} takes {percent(file.taken(longest) / max(total, 1))}".replace("%", " %")
    return f"{about}{total:,} cycles | {counted(len(file.lines), 'program')} one after the other | {share}"


def composed_memory(file: ComposedFile) -> str:
    """Return in one line what moves off chip, and what stays on chip."""
    held = "not known" if file.on_chip is None else f"at most {file.on_chip:,} bytes"
    return f"off chip: {moved_text(file.off_chip_bytes, file.bandwidth_share)}; on chip: {held}"


def composed_picture(file: ComposedFile) -> Iterator[str]:
    """Return the lines of a picture: a bar for each program, as long as its share of the cycles."""
    return map(one_line, _drawn(file))


def _drawn(file: ComposedFile) -> Iterator[str]:
    total = sum(line.cycles for line in file.lines)
    what = "cycles:" if file.stopped is None else "stops after"
    timed = file.lines[0].file.timed
    about = "~" if timed.engine == "fluid" else ""
    yield f"{file.path}::{file.name} on {timed.hardware.name}, {what} {about}{total:,}"
    rows, longest = list(_rows(file)), file.longest
    width = min(max(len(title) for title, _, _ in rows), 48)
    for title, line, times in rows:
        taken = times * line.cycles
        bar = "█" * min(round(taken * BAR / max(total, 1)), BAR)
        mark = "  <- longest" if line is longest else ""
        mark = "  <- stops" if line.file.timed.cycles is None else mark
        yield f"  {title[:width]:<{width}}  {bar:<{BAR}}  {taken:>12,}{mark}"
    yield f"  {composed_memory(file)}"
    if file.stopped is not None:
        yield f"  {composed_summary(file)}"


def _rows(file: ComposedFile) -> Iterator[tuple[str, ComposedLine, int]]:
    """Yield each program with how often it runs, in the order of its first line."""
    for line in file.different:
        times = sum(other is line for other in file.lines)
        yield line.title if times == 1 else f"{line.title}, {times} times", line, times


def composed_json(file: ComposedFile) -> dict[str, Any]:
    """Return the row of a composition: ``applies`` are its lines in order, each with the figures of a program."""
    timed = file.lines[0].file.timed
    return {
        "path": file.path,
        "composition": file.name,
        "hw": timed.hardware.name,
        "engine": timed.engine,
        "cycles": file.cycles,
        "off_chip_bytes": file.off_chip_bytes,
        "on_chip_bytes": file.on_chip,
        "share_of_bandwidth": round(file.bandwidth_share, 4),
        "applies": [
            {"program": line.program, "sizes": dict(line.sizes), **_told(line)} for line in file.lines
        ],
    }  # fmt: skip


def _told(line: ComposedLine) -> dict[str, Any]:
    brief = as_brief(line.file)
    return {name: brief[name] for name in ("cycles", "off_chip_bytes", "on_chip_bytes", "bottleneck", "stopped")}


def composed_brief(file: ComposedFile) -> dict[str, Any]:
    """Return what stands beside a verdict, with the keys of programs; the longest of them is the bottleneck."""
    stopped = file.stopped
    told = as_brief(file.longest.file if stopped is None else stopped.file)
    return {
        **told, "cycles": file.cycles, "bottleneck": file.longest.title, "off_chip_bytes": file.off_chip_bytes,
        "share_of_bandwidth": round(file.bandwidth_share, 4), "on_chip_bytes": file.on_chip, "bound": None,
    }  # fmt: skip
