"""A schedule's program as a Python file beside the user's function, verified as it stands.

What is small enough is verified whole, at the sizes that were asked for and at smaller ones; what is not, at the
smallest that the schedule holds for, and in slices: one size as it was asked for, the others as small as they can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepagents.lower.emit import Emitted
from stepagents.schedules.programs import Tiled
from stepagents.torchfn.delivery.program import commented, own_reference
from stepagents.torchfn.proof import Proof, proof
from stepcore.conversion.to_python import spec_to_python
from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import Port, ProgramSpec
from stepcore.records import Record
from stepcore.text.span import Embedded

if TYPE_CHECKING:
    from stepagents.torchfn.target import Target
    from stepagents.traced.graph import TracedFunction

WHOLE_FLOPS: Final = 1 << 33  # of a run that verifies a program at the sizes that were asked for
WHOLE_NUMBERS: Final = 3 << 23  # in its memory
_FREE: Final = 24  # a size that no tile cuts, where a run at the asked one would be long


class Delivered(Record):
    """The text of a file, the sizes at which it was verified, and whether those that were asked for are among them.

    ``fault`` says why it is not accepted, empty where it is; ``note`` what its verdict is not worth.
    """

    text: str
    verified: tuple[Mapping[str, int], ...]
    is_whole: bool
    fault: str = ""
    note: str = ""


def delivered(traced: TracedFunction, target: Target, program: Tiled, folder: Path, suffix: str) -> Delivered:
    """Return the program as a file in ``folder`` that is verified.

    Raises:
        ConvertError: the file cannot be certified.
    """
    file = folder / f"{traced.name}{suffix}"
    sizes = checked_sizes(program)
    whole = dict(program.spec.defaults)
    text = python_text(replace(traced, verified=tuple(sizes)), target, program, folder)
    result = Proof()
    for each in sizes:
        run = python_text(traced, target, _drawn_within(program, each), folder) if program.bounded else text
        found = proof(run, file, target, {} if each == whole else dict(each))
        if found.fault:
            return Delivered(text, (), False, fault=found.fault)
        result = found if found.note else result
    return Delivered(text, tuple(sizes), whole in sizes, note=result.note)


def checked_sizes(program: Tiled) -> list[Mapping[str, int]]:
    """Return the sizes at which a program is run: the smallest that it holds for, and its own where that is no work.

    Where that is too much, each size that it was asked for is run with the others as small as they can be.
    """
    own = dict(program.spec.defaults)
    steps = {**program.multiples, **program.least}
    least = {name: min(size, steps.get(name, min(size, _FREE))) for name, size in own.items()}
    if not _holds(program, least):
        return [own]
    if _is_little(program, own):
        return [least] if own == least else [least, own]
    slices = [{**least, name: size} for name, size in own.items() if size != least[name]]
    return [least, *(each for each in slices if _is_little(program, each))]


def _is_little(program: Tiled, sizes: Mapping[str, int]) -> bool:
    """Whether a run at ``sizes`` is little work; FLOPs are taken to follow each size that the function has."""
    own = dict(program.spec.defaults)
    flops = program.costs.flops * prod(sizes[name] / own[name] for name in own)
    numbers = sum(prod(size.bind(sizes) for size in port.type.shape) for port in program.spec.parameters)
    return flops <= WHOLE_FLOPS and program.read_again * numbers <= WHOLE_NUMBERS


def _drawn_within(program: Tiled, sizes: Mapping[str, int]) -> Tiled:
    """Return the program with whole numbers drawn within its sizes: at small ones all would be at the most else."""
    spec = program.spec
    inputs, parameters = (_within(ports, program, sizes) for ports in (spec.inputs, spec.parameters))
    return replace(program, spec=replace(spec, inputs=inputs, parameters=parameters))


def _within(ports: Sequence[Port], program: Tiled, sizes: Mapping[str, int]) -> tuple[Port, ...]:
    most = {name: size.bind(sizes) for name, size in program.bounded.items()}
    return tuple(
        replace(port, maximum=min(port.maximum or most[port.name], most[port.name])) if port.name in most else port
        for port in ports
    )


def _holds(program: Tiled, sizes: Mapping[str, int]) -> bool:
    """Whether blocks and lanes divide all sizes; those of sums and products of symbols are looked at, too."""
    return all(name in sizes and sizes[name] % step == 0 for name, step in program.multiples.items())


def python_text(traced: TracedFunction, target: Target, program: Tiled, folder: Path) -> str:
    """Return the program as a Python file whose ``reference=`` is the user's function. It passes the gate.

    Raises:
        ConvertError: it does not.
    """
    ranks = {item.name: len(item.dims) for item in traced.inputs}
    memories = [port.name for port in program.spec.parameters]
    given = [*(port.name for port in program.spec.inputs), *memories]
    reshaped = {name: ".reshape(-1)" for name in memories if ranks.get(name) == 1}
    reshaped |= {name: view.method for name, view in program.views.items()}
    rank = len(traced.outputs[0].dims)
    shaped = "" if rank > 1 else f".reshape(1, {'-1' if rank else 1})"  # one row, as it lies in memory
    own = own_reference(traced, target, given, folder, reshaped, shaped)
    spec = program.spec
    impl = commented(target, Emitted(spec, program.impl), margin=4)
    return spec_to_python(replace(spec, fns=tuple(_laid_out(target, spec, fn) for fn in spec.fns)), impl, own=own)


def _laid_out(target: Target, spec: ProgramSpec, fn: FnDecl) -> FnDecl:
    """Return a function whose body is laid out as the program is, with the user's code in its comments."""
    text = commented(target, Emitted(spec, fn.body.source.text), margin=4)
    return replace(fn, body=replace(fn.body, source=Embedded.whole(text)))
