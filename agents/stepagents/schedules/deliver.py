"""A schedule's program as a Python file beside the user's function, verified as it stands.

What is small enough is verified whole, at the sizes that were asked for and at smaller ones; what is not, at the
smallest that the schedule holds for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepagents.lower.emit import Emitted
from stepagents.schedules.programs import Tiled
from stepagents.torchfn.delivery.program import commented, own_reference
from stepagents.torchfn.proof import Proof, proof
from stepcore.conversion.to_python import spec_to_python
from stepcore.records import Record

if TYPE_CHECKING:
    from stepagents.torchfn.target import Target
    from stepagents.traced.graph import TracedFunction

WHOLE_FLOPS: Final = 1 << 33  # of a run that verifies a program at the sizes that were asked for
WHOLE_NUMBERS: Final = 1 << 26  # in its memory
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
        found = proof(text, file, target, {} if each == whole else dict(each))
        if found.fault:
            return Delivered(text, (), False, fault=found.fault)
        result = found if found.note else result
    return Delivered(text, tuple(sizes), whole in sizes, note=result.note)


def checked_sizes(program: Tiled) -> list[Mapping[str, int]]:
    """Return the sizes at which a program is run: the smallest that it holds for, and its own where that is no work."""
    own = dict(program.spec.defaults)
    least = {name: min(size, program.multiples.get(name, min(size, _FREE))) for name, size in own.items()}
    numbers = sum(prod(size.bind(own) for size in port.type.shape) for port in program.spec.parameters)
    found: list[Mapping[str, int]] = [least] if _holds(program, least) else []
    if own not in found and (not found or (program.costs.flops <= WHOLE_FLOPS and numbers <= WHOLE_NUMBERS)):
        found.append(own)
    return found


def _holds(program: Tiled, sizes: Mapping[str, int]) -> bool:
    """Whether blocks and lanes divide all sizes; those of sums and products of symbols are looked at, too."""
    return all(name in sizes and sizes[name] % step == 0 for name, step in program.multiples.items())


def python_text(traced: TracedFunction, target: Target, program: Tiled, folder: Path) -> str:
    """Return the program as a Python file whose ``reference=`` is the user's function. It passes the gate.

    Raises:
        ConvertError: it does not.
    """
    ranks = {item.name: len(item.dims) for item in traced.inputs}
    given = [port.name for port in program.spec.parameters]
    rows = [name for name in given if ranks.get(name) == 1]
    own = own_reference(traced, target, given, folder, rows)
    impl = commented(target, Emitted(program.spec, program.impl), margin=4)
    return spec_to_python(program.spec, impl, own=own)
