"""Element functions over blocks of any number of dimensions: tiles become blocks, blocks tiles. No torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stepagents.lower.functions import fresh_name
from stepagents.schedules.arrays.parts import VIEWS, ArrayPart, block_dims, is_whole, viewed, whole
from stepagents.schedules.bodies import ATOM, returning
from stepagents.schedules.indices import Index, aligned
from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.schedules.tile_ops import FILLED, number_text
from stepagents.traced.graph import line_of, opname, size_text
from stepcore.sizes.dim import Dim, product

if TYPE_CHECKING:
    from torch.fx import Node

Handler: TypeAlias = "Callable[[ArrayBody, ArrayPart], str]"
_LOOKUPS: Final = frozenset({"embedding", "index_select", "index"})


class ArrayBody:
    """The body of an element function that computes blocks; ``handlers`` say how, by the names of operations.

    ``inputs`` are the parts that it reads, in the order of the input tuple: tensors of the user's, and rows that are
    looked up in one, unless it ``keeps_tables`` and looks rows up itself, at the places of ``bounded`` tensors, which
    name the last row that there is. ``flops`` is about what one call computes, ``matrices`` are inputs that are read as
    matrices.
    """

    def __init__(
        self, bound: Mapping[str, int], handlers: Mapping[str, Handler], *, keeps_tables: bool = False
    ) -> None:
        self.bound = bound
        self.bounded: dict[str, Dim] = {}
        self._keeps_tables = keeps_tables
        self.inputs: list[ArrayPart] = []
        self.lines: list[str] = []
        self.flops = 0
        self.matrices: set[Node] = set()
        self._handlers = handlers
        self._known: dict[ArrayPart, str] = {}
        self._reshaped: dict[str, tuple[str, Sequence[Dim] | None]] = {}  # what each text is another shape of
        self._taken = {"input", "state", "torch"}
        self._kept: dict[str, str] = {}  # the names of texts: nothing is computed twice
        self._from: dict[str, int] = {}  # the line of the user's file that a name was computed from

    def of(self, part: ArrayPart) -> str:
        """Return the text that stands for a block; what it is computed by goes into ``lines``.

        Raises:
            NoSchedule: an operation mixes blocks, or none is known.
            LoopSplit: a view needs a loop as two.
        """
        if part not in self._known:
            if is_lookup(part.node) and self._keeps_tables:
                text = self._looked_up(part)
            elif part.node.op == "placeholder" or is_lookup(part.node):
                text = self._reading(part)
            else:
                text = self._computed(part)
            name = self._known[part] = self.keep(text, part.node.name)
            if (place := line_of(part.node)) is not None:
                self._from.setdefault(name, place[1])
            if text in self._reshaped:
                self._reshaped[self._known[part]] = self._reshaped[text]
        return self._known[part]

    def _computed(self, part: ArrayPart) -> str:
        name = opname(part.node)
        if part.node.target.__class__.__name__ == "builtin_function_or_method":
            name = "getitem"
        handler = self._handlers.get(name)
        if handler is None:
            raise NoSchedule(f"{name} has no form over blocks yet", part.node)
        return handler(self, part)

    def _looked_up(self, part: ArrayPart) -> str:
        """Return the text of rows of a table that the body has, at places that it has."""
        table, places = lookup_of(part.node)
        rows, *_ = shape_of(table)
        rank = len(shape_of(places))
        named = ArrayPart(places, part.at[:rank])
        while opname(named.node) in VIEWS - {"expand"}:
            named = viewed(named, self.bound)
        if named.node.op == "placeholder":
            self.bounded[named.node.name] = rows - 1
        text = self.of(ArrayPart(table, (whole(rows), *part.at[rank:])))
        return f"{text}[{self.of(ArrayPart(places, part.at[:rank]))}]"

    def _reading(self, part: ArrayPart) -> str:
        if part.node in self.matrices:
            raise NoSchedule("weights of a convolution that something else reads cannot be a matrix", part.node)
        self.inputs.append(part)
        text = f"input[{len(self.inputs) - 1}]"
        dims = block_dims(part)
        is_tile = len(dims) == 2 and not (is_lookup(part.node) and len(shape_of(lookup_of(part.node)[0])) == 1)
        return text if is_tile else self.reshaped(text, None, dims)

    def reshaped(self, text: str, before: Sequence[Dim] | None, after: Sequence[Dim]) -> str:
        """Return a block of the sizes ``before`` as one of ``after``; what was reshaped already is so once only.

        None stands for a tile.
        """
        source, own = self._reshaped.get(text, (text, before))
        if own is not None and [*own] == [*after]:
            return source
        result = f"{source}.reshape({dims_text(after)})"
        self._reshaped[result] = source, own
        return result

    def matrix(self, part: ArrayPart) -> str:
        """Return the text of a block as a matrix: a row for each place of its first dimension.

        What the user passes is one in memory then, as its numbers lie there in the same order.
        """
        rows, *others = block_dims(part)
        columns = product(others)
        if part.node.op != "placeholder":
            return f"{self.of(part)}.reshape({size_text(rows)}, {size_text(columns)})"
        if part not in self._known:
            self.matrices.add(part.node)
            self.inputs.append(part)
            self._known[part] = f"input[{len(self.inputs) - 1}]"
        return self._known[part]

    def keep(self, text: str, name: str) -> str:
        """Give a text a name of its own, or the one that it has, and return that."""
        if ATOM.fullmatch(text):
            return text
        if text in self._kept:
            return self._kept[text]
        name = self._kept[text] = fresh_name(name, self._taken)
        self.lines.append(f"{name} = {text}")
        return name

    def operand(self, part: ArrayPart, place: int) -> str:
        """Return the text of an argument that is broadcast to a part: a block, or a number.

        Raises:
            NoSchedule: it is neither.
        """
        given: Any = part.node.args[place]
        if isinstance(given, int | float):
            return number_text(part.node, (place,))
        if not hasattr(given, "op"):
            raise NoSchedule(f"{opname(part.node)} takes {given!r}", part.node)
        if opname(given) in FILLED:
            return number_text(given, (0 if opname(given) == "scalar_tensor" else 1,))
        return self.of(ArrayPart(given, aligned(part.node, part.at, given)))

    def count(self, part: ArrayPart, each: int) -> None:
        """Count ``each`` FLOPs for every element of a block."""
        self.flops += each * self.elements(part)

    def elements(self, part: ArrayPart) -> int:
        """Return how many elements a block has."""
        return prod(size.bind(self.bound) for size in block_dims(part))

    def returning(self, result: str) -> str:
        """Return the whole body with one result, without lines that it does not need.

        Where it computes several lines of the user's file, each stage says which.
        """
        kept: list[str] = []
        for line in reversed(self.lines):
            name = line.partition(" = ")[0]
            if any(re.search(rf"\b{name}\b", each.rpartition(" = ")[2]) for each in (*kept, result)):
                kept.insert(0, line)
        places = [self._from.get(line.partition(" = ")[0], 0) for line in kept]
        return _staged(returning(kept, result).split("\n"), places)


def _staged(lines: Sequence[str], places: Sequence[int]) -> str:
    """Return a body with a comment above each stage of several that says from which line of the user's file it is.

    ``places`` are the lines of the user's file, 0 for what only helps to compute what follows.
    """
    stages = list(places)
    for at in reversed(range(len(stages) - 1)):
        stages[at] = stages[at] or stages[at + 1]
    if len({*stages} - {0}) == 1:
        return "\n".join(lines)
    said, found = 0, list[str]()
    for line, place in zip_longest(lines, stages, fillvalue=0):
        if place and place != said:
            said = int(place)
            found.append(f"# line {place}")
        found.append(str(line))
    return "\n".join(found)


def is_lookup(node: Node) -> bool:
    """Whether a node takes rows of a tensor of the user's at places that a tensor names."""
    if opname(node) not in _LOOKUPS:
        return False
    table = lookup_of(node)[0]
    return table.op == "placeholder" and 1 <= len(shape_of(table)) <= 2


def lookup_of(node: Node) -> tuple[Node, Node]:
    """Return the tensor that a lookup reads, and that of the places.

    Raises:
        NoSchedule: it reads along another dimension than the first, or by several tensors of places.
    """
    given: Any = node.args
    if opname(node) == "embedding":
        return given[0], given[1]
    if opname(node) == "index_select":
        if given[1] != 0:
            raise NoSchedule("rows can be looked up along the first dimension only", node)
        return given[0], given[2]
    if len(given[1]) != 1 or given[1][0] is None:
        raise NoSchedule("elements cannot be looked up by several tensors of places", node)
    return given[0], given[1][0]


def need_whole(part: ArrayPart, *places: int) -> None:
    """Make sure that no loop runs over dimensions of a part.

    Raises:
        NoSchedule: one does.
    """
    if not all(is_whole(part.at[place]) for place in places):
        raise NoSchedule(f"{opname(part.node) or part.node.name} runs along a dimension that is cut", part.node)


def inserted(at: Sequence[Index], places: Sequence[int], indices: Sequence[Index], *, keep: bool) -> tuple[Index, ...]:
    """Return indices with others at ``places`` (ascending), instead of those there with ``keep``."""
    found = list(at)
    for place, index in zip(places, indices, strict=True):
        if keep:
            found[place] = index
        else:
            found.insert(place, index)
    return tuple(found)


def dims_text(dims: Sequence[Dim]) -> str:
    """Return sizes as arguments in a body."""
    return ", ".join(map(size_text, dims))
