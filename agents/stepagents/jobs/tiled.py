"""The job ``function`` where a program over tiles is wanted: schedules, timed, written and verified. Loads torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Final

from stepagents.proposers.programs import solution
from stepagents.schedules.choices import fastest
from stepagents.schedules.costs import CAPACITY
from stepagents.schedules.deliver import Delivered, delivered
from stepagents.schedules.programs import Tiled
from stepagents.schedules.search import ScheduleOptions, TiledLowering
from stepagents.torchfn.refusals import NO_LOWERING
from stepagents.torchfn.target import Target
from stepagents.torchfn.ties import tied_choice
from stepagents.traced.graph import TracedFunction
from stepcore.chips.chosen import chosen_chip
from stepcore.chips.keys import HardwareError
from stepcore.chips.reader import read_hardware
from stepcore.conversion.to_python import ConvertError
from stepcore.cycles.bounds import bound_of
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.jobdata.choices import SUFFIXES
from stepcore.jobdata.failures import Finding
from stepcore.jobdata.writing import FunctionRequest, FunctionResult, Solution
from stepcore.records import Record
from stepcore.settings.config import Config, ConfigError, Configs
from stepcore.text.wording import times_text
from stepcore.timer.told import chip_told
from stepcore.timing.hardware import PRESETS, Hardware

_SIZE: Final = 256  # of a dimension that nobody gave a size, where no tensor becomes too large by it
_LEAST: Final = 16
_NUMBERS: Final = 1 << 22  # of such a tensor
_TRIES: Final = 3  # programs that are verified until one is right
_SMALLER: Final = 3  # programs beside it that need fewer bytes on chip
_FAR: Final = 3.0  # times the bound, from where it is told
_NONE: Final = "no program over tiles: "
_ADVICE: Final = "--emit scalar writes a program of single numbers (in VS Code the setting stepsmith.synthesize.emit)"


class TiledOrder(Record):
    """What is wanted: the function, where its file goes, who hears how far it is, the seed of its data, the chip."""

    traced: TracedFunction
    target: Target
    folder: Path
    tell: Callable[[str, int], None]
    seed: int
    chip: Hardware


def tiled_result(order: TiledOrder) -> FunctionResult:
    """Return the verified program with the fewest cycles, and others that need fewer bytes on chip, or why not."""
    traced = replace(order.traced, seed=order.seed)
    sizes, assumed = _sizes(traced)
    traced = replace(traced, bound=sizes)
    options = ScheduleOptions(order.chip, order.chip.onchip.capacity or CAPACITY, _TRIES, _SMALLER)
    tell = partial(order.tell, "schedule")
    try:
        found = fastest(traced, options, tell)
    except (ArithmeticError, AssertionError, LookupError, RuntimeError, ValueError) as error:
        found = TiledLowering(reason=f"a defect of Stepsmith: {type(error).__name__}: {error}")
    faults: list[str] = []
    for program, file in _files(order, found.tried, traced, [*found.programs, *found.others]):
        if isinstance(file, Delivered):
            return _solved(order, found, traced, program, file, assumed)
        faults.append(file)
    why = tied_choice(traced, order.seed) if faults else ""
    return _unsolved(order, found, traced, [*faults[: _TRIES - 1], why] if why else faults)


def _files(
    order: TiledOrder, tried: int, traced: TracedFunction, programs: Sequence[Tiled]
) -> Iterator[tuple[Tiled, Delivered | str]]:
    """Yield each program with its verified file, or with why there is none; one is written when it is asked for."""
    for program in programs:
        order.tell("verify", tried)
        try:
            file = delivered(traced, order.target, program, order.folder, SUFFIXES["tiled"])
        except ConvertError as error:
            yield program, str(error)
        else:
            yield program, file.fault or file


def _sizes(traced: TracedFunction) -> tuple[dict[str, int], list[str]]:
    """Return a size for each symbol, and the symbols that nobody gave one."""
    assumed = [name for name in traced.dims if name not in traced.bound]
    tensors = [item.dims for item in traced.inputs] + [output.dims for output in traced.outputs]
    size = _SIZE
    while True:
        steps = {name: traced.multiples.get(name, 1) for name in assumed}
        chosen = {name: -(-size // step) * step for name, step in steps.items()}
        sizes = {name: traced.bound.get(name) or chosen[name] for name in traced.dims}
        most = max((prod(dim.bind(sizes) for dim in dims) for dims in tensors), default=0)
        if most <= _NUMBERS or size <= _LEAST or not assumed:
            return sizes, assumed
        size //= 2


def chip_of(request: FunctionRequest, folder: Path) -> Hardware:
    """Return the chip of an order, else that of the project, the default one where nobody can use that: others tell.

    Raises:
        JobError: STEP506, the order describes a chip that cannot be used.
    """
    if request.chip:
        with chip_told():
            return read_hardware(request.chip, request.chip_name)
    try:
        config = Configs().for_file(folder / "file")
    except ConfigError:
        config = Config()
    try:
        return chosen_chip(config).chip
    except HardwareError:
        return PRESETS["default"]


def _solved(
    order: TiledOrder,
    found: TiledLowering,
    traced: TracedFunction,
    program: Tiled,
    file: Delivered,
    assumed: Sequence[str],
) -> FunctionResult:
    best = _written(program, file, program.schedule)
    ways, faults = _beside(order, found, traced, [each for each in found.others if each is not program])
    smaller, more = _beside(order, found, traced, found.smaller)
    others = sorted([*ways, *smaller], key=lambda each: each.cycles or 0)
    faults += more
    notes = [*_notes(program, file, assumed), *_far(program, traced, order.chip), *filter(None, [found.choice])]
    if smaller:
        notes.append(f"{len(smaller)} more with fewer bytes on chip and more cycles")
    return replace(
        _result(order, found, traced),
        solved=True,
        programs=(best, *others),
        notes=(*traced.notes, *notes, *faults),
        checked_at=tuple(dict(sizes) for sizes in file.verified),
    )


def _beside(
    order: TiledOrder, found: TiledLowering, traced: TracedFunction, wanted: Sequence[Tiled]
) -> tuple[list[Solution], list[str]]:
    """Return those programs beside the best one that are verified, and a note for each that is not right."""
    programs: list[Solution] = []
    faults: list[str] = []
    for program, file in _files(order, found.tried, traced, wanted):
        if isinstance(file, Delivered):
            programs.append(_written(program, file, "; ".join([program.schedule, *_held(program)])))
        else:
            faults.append(f"left out, {program.schedule}: {file}")
    return programs, faults


def _written(program: Tiled, file: Delivered, layout: str) -> Solution:
    found = solution(
        program.impl, len(program.checked.graph.nodes), program.metrics, dict(program.spec.defaults),
        text=file.text, layout=layout, proposer="lower",
    )  # fmt: skip
    return replace(found, form="tiled", cycles=program.cycles)


def _notes(program: Tiled, file: Delivered, assumed: Sequence[str]) -> list[str]:
    notes = [f"schedule: {program.schedule}", *_held(program)]
    if assumed:
        sizes = dict(program.spec.defaults)
        taken = ", ".join(f"{name}={sizes[name]}" for name in assumed if name in sizes)
        notes.append(f"nobody gave sizes: {taken} were taken; --dims or a comment with numbers gives others")
    if not file.is_whole:
        at = "; ".join(", ".join(f"{name}={size}" for name, size in sizes.items()) for sizes in file.verified)
        notes.append(f"verified at {at}: a run at its own sizes would take too long")
    return [*notes, *filter(None, [file.note])]


def _far(program: Tiled, traced: TracedFunction, chip: Hardware) -> list[str]:
    """Say how far a program stays from the bound where tiles hardly divide its sizes, and which sizes they divide."""
    odd = {name: size for name, size in traced.bound.items() if size > _LEAST and size % _LEAST}
    if not odd or program.bounded:
        return []
    try:
        bound = bound_of(time_program(program.checked, chip))
    except NotTimed as error:
        return [f"how far it is from the bound is not known: {error}"]
    if bound is None or bound.ratio is None or bound.ratio <= _FAR:
        return []
    sizes = ", ".join(f"{name}={size}" for name, size in odd.items())
    other = ", ".join(f"{name}={-(-size // _LEAST) * _LEAST}" for name, size in odd.items())
    return [f"it takes {times_text(bound.ratio)} of the bound, as tiles hardly divide {sizes}; they divide {other}"]


def _held(program: Tiled) -> list[str]:
    """Say which sizes the program holds for, where it is not for all."""
    steps = [
        f"{name} = {step}" if program.least.get(name) == step else f"{name} a multiple of {step}"
        for name, step in program.multiples.items()
        if step > 1
    ]
    return [f"the program holds for {', '.join(steps)}"] if steps else []


def _unsolved(order: TiledOrder, found: TiledLowering, traced: TracedFunction, faults: Sequence[str]) -> FunctionResult:
    reason = "; ".join(faults[:_TRIES]) or f"{_NONE}{found.reason}; {_ADVICE}"
    unsupported: tuple[Finding, ...] = ()
    if not faults and found.line is not None:
        line, what = found.line, found.operation
        place = Finding(NO_LOWERING, found.reason, order.target.path, line, 1, _ADVICE, what)
        unsupported = (place.at_code(order.target.text),)
    return replace(_result(order, found, traced), reason=reason, unsupported=unsupported)


def instead_of_tiles(found: FunctionResult) -> str:
    """Return one sentence about a program of single numbers: why it is none over tiles."""
    place = f"line {found.unsupported[0].line}: " if found.unsupported else ""
    reason = found.reason.removesuffix(f"; {_ADVICE}").removeprefix(_NONE)
    return f"a program of single numbers, as there is none over tiles: {place}{reason}"


def _result(order: TiledOrder, found: TiledLowering, traced: TracedFunction) -> FunctionResult:
    return FunctionResult(
        name=traced.name,
        path=order.target.path,
        line=order.target.line,
        solved=False,
        programs=(),
        unsupported=(),
        notes=(),
        sizes=dict(traced.bound),
        inferred=None,
        fixed=dict(traced.fixed),
        reason="",
        candidates=found.tried,
        checked_at=(),
        seconds=0.0,
        task="",
        peak_bytes=None,
        cpu_seconds=0.0,
    )
