"""What the search knows of a task before it starts: types that lead somewhere, sizes, and what functions take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from stepagents.search.items import parts
from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import ProgramSpec
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Element, Multihot, Shape, StreamType, STuple, Tile, element_shape

MAX_RANK: Final = 6


@dataclass(slots=True)
class Space:
    """Static facts about one task.

    ``wanted`` are the components that some function takes or that an output holds; ``by_input`` groups the functions
    by what they take (components as Zip joins them); ``sizes`` are all sizes that the task's types name. ``tiles``
    says whether tiles are wanted. ``dialect`` is whose operators moves are made of.
    """

    spec: ProgramSpec
    bindings: dict[str, int]
    dialect: Dialect = GENERATION_1
    wanted: set[Element] = field(default_factory=set)
    by_input: dict[tuple[Element, ...], list[FnDecl]] = field(default_factory=dict)
    sizes: set[Dim] = field(default_factory=set)
    stream_sizes: set[Dim] = field(default_factory=set)
    goals: list[StreamType] = field(default_factory=list)
    merges: dict[Element, list[FnDecl]] = field(default_factory=dict)
    routes: bool = False
    tiles: bool = False

    @staticmethod
    def of(spec: ProgramSpec, bindings: dict[str, int], dialect: Dialect = GENERATION_1) -> Space:
        """Collect the facts."""
        space = Space(spec, bindings, dialect)
        space.goals = [port.type for port in spec.outputs or ()]
        for fn in spec.fns:
            space.by_input.setdefault(parts(fn.input), []).append(fn)
            space.wanted.update(parts(fn.input))
            if fn.has_state:
                space.merges.setdefault(fn.input, []).append(fn)
        for goal in space.goals:
            space.wanted.update(parts(goal.element))
        for stream in [*space.goals, *(port.type for port in spec.inputs)]:
            space.stream_sizes.update(stream.shape)
            space.sizes.update(stream.shape)
            space.sizes.update(_element_sizes(stream.element))
        for fn in spec.fns:
            for element in (fn.input, fn.output):
                space.sizes.update(_element_sizes(element))
        # A size such as D//4 comes of chunks of 4.
        space.sizes |= {quotient.divisor for size in list(space.sizes) for quotient in size.quotients()}
        space.wanted |= _opened(space.wanted)
        space.routes = _has_selectors(spec)
        space.tiles = any(isinstance(element, Tile) for element in space.wanted)
        return space

    def bound(self, sizes: Iterable[Dim]) -> tuple[int, ...]:
        """Return the integers of closed sizes."""
        return tuple(size.bind(self.bindings) for size in sizes)

    def wants(self, element: Element) -> bool:
        """Return whether some component can be used by a function or an output, as it is or rebuffered."""
        return has_selector(element) or any(part in self.wanted for part in parts(element))


def _element_sizes(element: Element) -> set[Dim]:
    return {size for part in parts(element) if not isinstance(part, STuple) for size in element_shape(part)}


def _opened(elements: set[Element]) -> set[Element]:
    """Scalars and selectors inside wanted buffers are wanted, too: Bufferize makes the buffers of them."""
    return {element.element for element in elements if isinstance(element, Buffer)}


def _has_selectors(spec: ProgramSpec) -> bool:
    ports = [port.type.element for port in spec.inputs]
    return any(has_selector(element) for element in [*ports, *(fn.output for fn in spec.fns)])


def has_selector(element: Element) -> bool:
    """Return whether selectors are among the components or in their buffers."""
    return any(
        isinstance(part, Multihot) or (isinstance(part, Buffer) and isinstance(part.element, Multihot))
        for part in parts(element)
    )


def common_suffix(left: Shape, right: Shape) -> int:
    """Return how many outermost sizes two shapes share."""
    count = 0
    while count < min(len(left), len(right)) and left[-1 - count] == right[-1 - count]:
        count += 1
    return count
