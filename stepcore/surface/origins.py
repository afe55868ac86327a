"""Which operators made a stream of a script, without its values: for the picture in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from stepcore.ops.base import only_published

if TYPE_CHECKING:
    from stepcore.ops.base import Operator
    from stepcore.types import StreamType

DEEPEST: Final = 200  # operators in a row that are remembered; a loop that never ends must not remember all its rounds


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """One stream: what it is called, its type, and the operator that made it of others.

    ``operator`` is None for a stream that the script made itself, and ``inputs`` are empty for it, and where more than
    :data:`DEEPEST` operators stand in a row. ``depth`` counts the operators of the longest way here. ``mark`` is what
    derived sizes call it, no other stream of the process being called so.
    """

    label: str
    type: StreamType
    operator: Operator | None = None
    inputs: tuple[Origin, ...] = ()
    depth: int = 0
    mark: str = ""


def after(operator: Operator, inputs: Sequence[Origin], label: str, type_: StreamType) -> Origin:
    """Return the origin of what ``operator`` makes of ``inputs``."""
    depth = 1 + max((origin.depth for origin in inputs), default=0)
    kept = tuple(inputs) if depth % DEEPEST else ()
    return Origin(label, type_, operator, kept, depth if kept else 1)


_MARKS: Final = count(1)


def mark_of(origin: Origin, name: str) -> str:
    """Return what derived sizes call the first stream that ``origin`` is unchanged; ``name`` is for one without any."""
    while origin.operator is not None and origin.operator.passes and origin.inputs:
        (origin,) = origin.inputs
    if not origin.mark:
        object.__setattr__(origin, "mark", new_mark(origin.label or name or "s"))
    return origin.mark


def comes_from_published(origin: Origin) -> bool:
    """Return whether types and operators of generation 1 alone led to a stream."""
    return only_published(origin, lambda one: (one.type, one.operator, one.inputs))


def new_mark(name: str) -> str:
    """Return what derived sizes call a stream, and no other one of the process."""
    return f"{name}'{next(_MARKS)}"
