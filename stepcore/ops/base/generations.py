"""Which generation of the language a type or a stream needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from stepcore.sizes.dim import OPEN
from stepcore.types import Buffer, StreamType, Tile, components, tensor_shapes


def is_later(stream: StreamType | None, *, branches: bool = False) -> bool:
    """Return whether a type is none of generation 1: it has tiles, dynamic or ragged sizes.

    With ``branches`` how often selectors name branches counts as generation 1, which calls it a new symbol.
    """
    if stream is None:
        return False
    parts = components(stream.element)
    if any(isinstance(part.element if isinstance(part, Buffer) else part, Tile) for part in parts):
        return True
    sizes = [size for shape in tensor_shapes(stream) for size in shape if size.is_open]
    if not branches:
        return bool(sizes)
    atoms = [atom for size in sizes for atom in size.derivations()]
    named = {name for size in sizes for name in size.symbols()} - {atom.text for atom in atoms}
    return any(atom.operator != "routed" for atom in atoms) or any(name[0] in OPEN for name in named)


class OfGeneration(Protocol):
    """What is asked of an operator here."""

    @property
    def generation(self) -> int:
        """The generation of the language in which it came."""
        ...

    @property
    def fills(self) -> bool:
        """Whether it adds elements that fill up lists."""
        ...


T = TypeVar("T")
# How a stream came to be: its type, the operator that made it (None for an input), and what that was applied to.
MadeOf: TypeAlias = tuple[StreamType | None, OfGeneration | None, Sequence[T]]


def only_published(stream: T, made: Callable[[T], MadeOf[T]]) -> bool:
    """Return whether types and operators of generation 1 alone led to ``stream``."""
    rest, seen = [stream], {stream}
    while rest:
        type_, operator, inputs = made(rest.pop())
        if is_later(type_) if operator is None else operator.generation > 1 or operator.fills:
            return False
        rest += [each for each in inputs if each not in seen]
        seen.update(inputs)
    return True
