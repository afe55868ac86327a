"""Which streams may carry tiles of fewer rows, the parts of larger ones, in a dimension of their own.

The parts of a tile lie at a *level*: how many dimensions of the stream are inside of theirs. A load gives them at any
level, because it counts. Work that is row by row (:mod:`stepcore.rewrites.row_wise`) is done to each part, what such a
tile meets is repeated for each, and a fold goes over the dimensions inside of the parts. Where tiles are wanted whole,
the parts are joined: each dimension inside of theirs has to be 1 there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.records import Record
from stepcore.rewrites.functions import WrittenFunction, written_function
from stepcore.rewrites.row_wise import is_row_wise
from stepcore.rewrites.rows_in_tiles import is_flat
from stepcore.rewrites.subject import RewriteSubject
from stepcore.sizes.dim import Dim, product
from stepcore.types import Tile, as_shape

_FOLDS: Final = ("Accum", "Scan")
_ONE: Final = Dim.of(1)


class NotInParts(Exception):
    """Tiles cannot be parts here; the message says why."""


class PartedFunction(Record):
    """A function of the file that is given parts, and which of its inputs are some."""

    function: WrittenFunction
    has_rows: tuple[bool, ...]


class TileParts:
    """What one load's tiles of ``rows`` rows become as parts at a level: see the attributes.

    ``levels`` are those of the streams that carry parts, ``loads`` those of the loads that give some, ``again`` those
    of the loads that are made for each part, and ``repeated`` the other streams that are (at level 0). ``inside`` are
    the nodes that take parts and give some, ``stored`` the stores that take some, ``joined`` each Retile and
    RetileStreamify of rows that does; ``ends`` are the streams whose parts have to be joined. With ``repeats`` what is
    loaded is repeated as well where it can be, instead of being loaded again.
    """

    def __init__(self, subject: RewriteSubject, seed: TypedNode, level: int, *, repeats: bool = False) -> None:
        self._subject, self._graph = subject, subject.graph
        self._repeats = repeats
        element = self._element(seed.outputs[0])
        self.rows = 0 if element is None else element.shape[0].constant or 0
        self.levels: dict[int, int] = {seed.outputs[0]: level}
        self.loads: dict[int, int] = {seed.index: level}
        self.again: dict[int, int] = {}
        self.repeated: set[int] = set()
        self.functions: dict[int, PartedFunction] = {}
        self.inside: list[TypedNode] = []
        self.stored: list[TypedNode] = []
        self.joined: list[TypedNode] = []
        self.ends: dict[int, str] = {}  # by stream the unit that takes it, empty for what is returned
        self.reasons: list[str] = []
        for node in subject.graph.nodes[seed.index + 1 :]:
            if any(stream in self.levels for stream in node.inputs):
                self._take(node)
        self.ends |= dict.fromkeys((stream for stream in self._graph.returns if stream in self.levels), "")
        self._settle()

    def shape(self, stream: int) -> tuple[Dim, ...]:
        """Return the sizes of a stream as it was."""
        return as_shape(self._graph.streams[stream].type.shape)

    def _settle(self) -> None:
        """Raise NotInParts where nothing would be done to parts, or they cannot be joined."""
        if not self.functions and not self.stored:
            raise NotInParts(self.reasons[0] if self.reasons else "nothing is computed of its tiles")
        for stream, taker in self.ends.items():
            level = self.levels[stream]
            shape = self.shape(stream)
            if any(size != _ONE for size in shape[:level]) or (level and level >= len(shape)):
                where = f"where {taker} takes them" if taker else "where they are returned"
                raise NotInParts(f"parts of a tile do not follow each other {where}")

    def _element(self, stream: int) -> Tile | None:
        element = self._graph.streams[stream].type.element
        return element if isinstance(element, Tile) else None

    def _has_rows(self, stream: int) -> bool:
        element = self._element(stream)
        return element is not None and element.shape[0].constant == self.rows

    # Nodes --------------------------------------------------------------------------------------------------------

    def _take(self, node: TypedNode) -> None:
        """Note what becomes of a node that is given parts."""
        try:
            self._through(node)
        except NotInParts as error:
            self.reasons.append(str(error))
            given = (stream for stream in node.inputs if stream in self.levels)
            self.ends |= dict.fromkeys(given, node.written)

    def _through(self, node: TypedNode) -> None:
        op: Any = node.op
        level = self.levels[next(stream for stream in node.inputs if stream in self.levels)]
        if not self._subject.is_alone(node) or self._subject.call(node) is None:
            raise NotInParts(f"{node.written} is not written as one step.{node.written}(...).apply(...)")
        if node.op_name == "LinearOffChipStore":
            self._store(node, level)
            return
        if node.op_name in ("Retile", "RetileStreamify") and op.axis == 0:
            if level:
                raise NotInParts(f"parts of a tile do not follow each other where {node.written} takes them")
            self.joined.append(node)
            return
        applies = node.op_name == "Map" or (node.op_name in _FOLDS and op.b <= level)
        after = level if applies else self._moved(node, op, level)
        if not all(self._has_rows(stream) for stream in node.outputs):
            raise NotInParts(f"{node.written} does not keep the rows of its tiles")
        if applies:
            self._apply(node, level)
            after -= op.b if node.op_name == "Accum" else 0
        self.inside.append(node)
        self.levels |= dict.fromkeys(node.outputs, after)

    def _moved(self, node: TypedNode, op: Any, level: int) -> int:
        """Return the level behind a node that applies no function."""
        match node.op_name:
            case "Copy" | "Identity":
                return level
            case "Promote":
                return level + 1 if op.b < level else level
            case "Repeat":
                return level + 1
            case "Flatten" if level < min(op.L):
                return level
            case "Flatten" if level > max(op.L):
                return level - len(op.L)
            case "Retile" if level:
                return level - 1
            case "RetileStreamify" if level:
                return level
        raise NotInParts(f"{node.written} takes its tiles whole")

    def _store(self, node: TypedNode, level: int) -> None:
        op: Any = node.op
        (stream,) = node.inputs
        element = self._element(stream)
        columns = None if element is None else op.memory.sizes[0] // element.shape[1]
        if op.base != 0 or columns is None or product(self.shape(stream)[:level]) != columns:
            raise NotInParts("parts do not come in the order in which they are stored")
        self.stored.append(node)

    def _apply(self, node: TypedNode, level: int) -> None:
        """Note the function of a node, and what is repeated for each part beside them."""
        name = getattr(getattr(node.op, "fn", None), "func_name", "")
        function = written_function(self._subject, name)
        if function is None or len(function.inputs) != len(node.inputs):
            raise NotInParts(f"what {name} computes of each row cannot be read off the file")
        if any(self.levels.get(stream, level) != level for stream in node.inputs):
            raise NotInParts(f"parts of its tiles lie in different places where {node.written} takes them")
        flat = [is_flat(self._graph.streams[stream].type.element) for stream in node.inputs]
        for has_rows in self._ways(node, level):
            if is_row_wise(function, has_rows, flat):
                break
        else:
            raise NotInParts(f"{name} may mix the rows of a tile, or count them")
        again: dict[int, int] = {}
        repeated: set[int] = set()
        for stream, has in zip(node.inputs, has_rows, strict=True):
            if stream in self.levels:
                continue
            load = self._load(stream, level)
            if load is None and (has or level):
                raise NotInParts(f"{node.written} meets tiles that are not loaded where they are read")
            if load is not None and has:
                self.loads[load.index] = level
            elif load is None or (self._repeats and level == 0):
                repeated.add(stream)
            else:
                again[load.index] = level
        self.again |= again
        self.repeated |= repeated
        self.functions[node.index] = PartedFunction(function, has_rows)

    def _ways(self, node: TypedNode, level: int) -> Iterator[tuple[bool, ...]]:
        """Yield which inputs may be parts: those that are, then all loads of as many rows as well."""
        yield tuple(stream in self.levels for stream in node.inputs)
        yield tuple(
            stream in self.levels or (self._has_rows(stream) and self._load(stream, level) is not None)
            for stream in node.inputs
        )

    def _load(self, stream: int, level: int) -> TypedNode | None:
        """Return the load that gives a stream, where one more counter may stand at the level."""
        node = self._subject.producer(stream)
        if node is None or not isinstance(node.op, LinearOffChipLoad) or not is_split(self._subject, node):
            return None
        outer = len(self.shape(node.inputs[0])) if node.inputs else 0
        return node if level <= len(self.shape(stream)) - outer else None


def is_split(subject: RewriteSubject, load: TypedNode) -> bool:
    """Whether a load may count otherwise: its text gives no other one, and nobody writes what it reads."""
    written = {each.name for each in subject.checked.spec.parameters if each.written}
    memory = getattr(load.op, "memory", None)
    return memory is not None and memory.name not in written and subject.is_alone(load)
