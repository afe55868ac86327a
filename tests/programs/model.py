"""Generated programs as data: element types, streams, functions and operator applications, before any text.

All sizes are innermost first, as everywhere in generation 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .sizes import Size

Shape = tuple[Size, ...]


@dataclass(frozen=True)
class Part:
    """One component of an element: a buffer of `sizes` (a lone number or selector if empty), of selectors if `bits`."""

    sizes: Shape = ()
    bits: Size | None = None

    def __str__(self) -> str:
        inner = "fp32" if self.bits is None else f"Multihot(fp32, {self.bits})"
        return f"Buffer({inner}, [{', '.join(map(str, self.sizes))}])" if self.sizes else inner

    @property
    def tensor_shape(self) -> Shape:
        """The shape of its tensor, outermost first."""
        return (*reversed(self.sizes), *(() if self.bits is None else (self.bits,)))


@dataclass(frozen=True)
class Kind:
    """An element type; a tuple of one (`is_tuple`) is not its component."""

    parts: tuple[Part, ...]
    is_tuple: bool = False

    @property
    def known(self) -> bool:
        """Whether the type can be written down, so that functions can be declared for it."""
        return all(size.known for part in self.parts for size in part.sizes)

    @property
    def volume(self) -> int:
        """How many numbers one element holds."""
        return sum(_volume(part.tensor_shape) for part in self.parts)


def _volume(shape: Shape) -> int:
    result = 1
    for size in shape:
        result *= size.value
    return result


NUMBER = Kind((Part(),))


@dataclass(frozen=True)
class Stream:
    """A stream: `producer` is the operator that made it, "input" for an input of the program.

    `route` identifies the values of a selector, whatever its shape; 0 for all other streams.
    """

    index: int
    shape: Shape
    kind: Kind
    producer: str
    route: int = 0

    @property
    def rank(self) -> int:
        """The number of dimensions less one."""
        return len(self.shape) - 1

    @property
    def known(self) -> bool:
        """Whether its type can be written down."""
        return self.kind.known and all(size.known for size in self.shape)

    @property
    def volume(self) -> int:
        """How many numbers it holds at most."""
        return _volume(self.shape) * self.kind.volume


@dataclass(frozen=True)
class Fn:
    """An element function; `init` makes it an accumulator. `body` reads a parameter as `{W0}`."""

    name: str
    input: Kind
    output: Kind
    body: str
    init: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Input:
    """An input stream and how its data is drawn: `data_gen`, or how many ones a selector has."""

    stream: Stream
    data_gen: str | None
    ones: tuple[int, int] | None = None


@dataclass(frozen=True)
class Param:
    """A weight of `dims` (innermost first)."""

    name: str
    dims: Shape


@dataclass(frozen=True)
class Step:
    """One application: stream numbers in and out. `group` joins the applications of one stage to all branches."""

    op: str
    params: dict[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    group: int = 0


@dataclass
class Program:
    """A well-typed affine program: every stream is consumed once, or returned."""

    sizes: dict[str, int]
    streams: dict[int, Stream] = field(default_factory=dict)
    inputs: list[Input] = field(default_factory=list)
    weights: list[Param] = field(default_factory=list)
    fns: dict[str, Fn] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    returns: list[int] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)  # results of probes, which nobody consumes

    def all_consumers(self) -> dict[int, list[str]]:
        """For each stream the operators that consume it, "return" standing for the program itself."""
        found: dict[int, list[str]] = {index: [] for index in self.streams}
        for step in self.steps:
            for index in step.inputs:
                found[index].append(step.op)
        for index in self.returns:
            found[index].append("return")
        return found
