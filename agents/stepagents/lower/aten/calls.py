"""One call of an ATen operation, and the table of what is known of them.

What has no streaming form raises ``CannotLower``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stepagents.lower.affine import Axis, BoundSizes
from stepagents.lower.values import Literal, Pointwise, Shape, Source, Value
from stepagents.lower.views import broadcast
from stepagents.traced import graph as traced
from stepagents.traced.graph import (
    DIMS,
    FIXED,
    SCALARS,
    SIZES,
    first_dims,
    line_of,
    opname,
    scalar_argument,
    size_argument,
)
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

DTYPES: Final = {
    "torch.float32": "fp32", "torch.float16": "fp16", "torch.bfloat16": "bf16", "torch.int32": "int32",
    "torch.int64": "int64", "torch.bool": "bool",
}  # fmt: skip
Results: TypeAlias = "Value | tuple[Value, ...]"
Handler: TypeAlias = "Callable[[Call], Results]"
HANDLERS: Final[dict[str, Handler]] = {}


class CannotLower(Exception):
    """An operation that has no lowering; the text is the reason, ``advice`` what to do."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.advice = advice


def no_form_of(what: str, advice: str = "") -> CannotLower:
    """Return the refusal of an operation in a form (``a scatter without a source``) of which no streams are made."""
    return CannotLower(f"Stepsmith has no streaming form of {what}", advice)


@dataclass(slots=True)
class LoweringWorld:
    """What all calls of one graph share. ``infinite``: minus infinity occurs in it.

    ``firsts`` are the states before the first round of a loop, by the number of what stands for the state in a round.
    """

    sizes: BoundSizes
    infinite: bool
    constants: dict[str, Any] = field(default_factory=dict)
    firsts: dict[int, Value] = field(default_factory=dict)
    _counters: dict[Node, Axis] = field(default_factory=dict)

    def counter(self, node: Node) -> Axis:
        """Return the loop whose round ``node`` is in: that of the next end in the graph."""
        while opname(node) != "loop_end":
            node = node.next
            if node.op == "output":
                raise no_form_of("a round of a loop without an end")
        if node not in self._counters:
            self._counters[node] = Axis("round", size_argument(node, (0,)), ("rounds", node.name))
        return self._counters[node]

    def constant(self, name: str, tensor: Any) -> Source:
        """Return ``tensor``, which depends on no input, as something that the host streams in."""
        self.constants[name] = tensor
        return Source(tuple(Dim.of(size) for size in tensor.shape), dtype_name(tensor.dtype), name)


@dataclass(slots=True)
class Call:
    """A call node with its arguments by their names in the operation's schema."""

    node: Node
    values: Mapping[Node, Results]
    world: LoweringWorld
    _names: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    _defaults: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        target: Any = self.node.target
        for place, argument in enumerate(target._schema.arguments):
            if argument.name in self.node.kwargs:
                self._names[argument.name] = (argument.name,)
            elif place < len(self.node.args):
                self._names[argument.name] = (place,)
            elif argument.has_default_value():
                self._defaults[argument.name] = argument.default_value

    @property
    def name(self) -> str:
        """The operation without its namespace and overload."""
        return opname(self.node)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Name and type of the arguments of the schema."""
        target: Any = self.node.target
        return [(argument.name, str(argument.type)) for argument in target._schema.arguments]

    @property
    def sizes(self) -> BoundSizes:
        """The sizes of the trace."""
        return self.world.sizes

    @property
    def shape(self) -> Shape:
        """Sizes of the only result."""
        return first_dims(self.node)

    def shapes(self) -> list[Shape]:
        """Sizes of all results."""
        return [tuple(dims) for dims in self.node.meta[DIMS]]

    @property
    def dtype(self) -> str:
        """Element type of the (first) result."""
        return node_dtype(self.node)

    def given(self, name: str) -> bool:
        """Whether the call has a value for ``name`` besides its default."""
        return name in self._names

    def raw(self, name: str) -> Any:
        """The argument as it stands in the graph, or its default."""
        if name not in self._names:
            return self._defaults.get(name)
        first = self._names[name][0]
        return self.node.kwargs[first] if isinstance(first, str) else self.node.args[first]

    def tensor(self, name: str) -> Value:
        """The argument as a value; a number becomes a literal without dimensions."""
        found = self.optional(name)
        if found is None:
            raise CannotLower(f"{self.name} lacks {name}")
        return found

    def optional(self, name: str) -> Value | None:
        """The argument as a value, None where it is None."""
        raw = self.raw(name)
        if raw is None:
            return None
        if hasattr(raw, "op"):
            return self._value(raw)
        return Literal(
            (), "bool" if isinstance(raw, bool) else "int64" if isinstance(raw, int) else "fp32", self.scalar(name)
        )

    def tensors(self, name: str) -> list[Value]:
        """A list argument as values."""
        return [self._value(node) for node in self.raw(name)]

    def _value(self, node: Node) -> Value:
        found = self.values[node]
        if isinstance(found, tuple):
            raise CannotLower(f"{self.name} takes one tensor, and {node.name} has several results")
        return found

    def scalar(self, name: str) -> str:
        """A number as text for an element function."""
        if name not in self._names:
            return number(self._defaults.get(name))
        text = scalar_argument(self.node, self._names[name])
        return number(float(text)) if text in ("inf", "-inf", "nan") else text

    def size(self, name: str, *place: int) -> Dim:
        """An integer (or one of a list) as an expression of the sizes."""
        if name not in self._names:
            value: Any = self._defaults.get(name)
            return Dim.of(value[place[0]] if place else value)
        return size_argument(self.node, (*self._names[name], *place))

    def integers(self, name: str, count: int = 0) -> list[int]:
        """A list of plain integers; one alone stands for ``count``."""
        raw = self.raw(name)
        found = [raw] if isinstance(raw, int) else list(raw or ())
        return found * count if len(found) == 1 and count else found

    def read_results(self) -> set[int]:
        """Which of several results somebody reads."""
        return {user.args[1] for user in self.node.users if user.users and isinstance(user.args[1], int)}

    def dims(self, name: str, rank: int) -> list[int]:
        """A list of dimensions, all where it is empty or None."""
        raw = self.raw(name)
        found = [raw] if isinstance(raw, int) else list(raw or ())
        return [place % rank for place in found] if found else list(range(rank))

    def pointwise(
        self, template: str, *args: Value, label: str = "", dtype: str = "", shape: Shape | None = None
    ) -> Value:
        """Return an elementwise expression of ``args``, broadcast to ``shape`` (that of the result unless given)."""
        to = self.shape if shape is None else shape
        found = tuple(broadcast(arg, to) for arg in args)
        return Pointwise(template, found, dtype or self.dtype, label or self.name.strip("_"))


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register a function for operations by name."""

    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
        return handler

    return register


def node_dtype(node: Node) -> str:
    """Return the element type of a node's only or first result.

    Raises:
        CannotLower: streams cannot hold it.
    """
    value = node.meta["val"]
    return dtype_name((value[0] if isinstance(value, list | tuple) else value).dtype)


def dtype_name(dtype: Any) -> str:
    """Return the spelling of a torch dtype in task files.

    Raises:
        CannotLower: streams cannot hold it.
    """
    name = DTYPES.get(str(dtype))
    if name is None:
        text = f"it makes {str(dtype).removeprefix('torch.')}, and streams hold {', '.join(DTYPES.values())}"
        raise CannotLower(text, "convert it to one of them")
    return name


def number(value: Any) -> str:
    """Return a number as text for an element function."""
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "torch.inf" if value > 0 else "-torch.inf"
    if isinstance(value, float) and isnan(value):
        return "torch.nan"
    return repr(value)


def size_text(size: Dim) -> str:
    """Return a size as text for an element function, an expression in brackets."""
    text = traced.size_text(size)
    return text if size.constant is not None else f"({text})"


def fixed_tensor(node: Node) -> Any:
    """Return what a node that depends on no input holds; None where it depends on one, or anywhere on symbols."""
    found = node.meta.get(FIXED)
    if found is None or not hasattr(found, "dtype"):
        return None
    seen = {node}
    stack = [node]
    while stack:
        each = stack.pop()
        if SIZES in each.meta or SCALARS in each.meta or any(size.constant is None for size in first_dims(each)):
            return None
        more = [other for other in each.all_input_nodes if other not in seen]
        seen.update(more)
        stack += more
    return found


def uniform(tensor: Any) -> str | None:
    """Return the number that all elements of ``tensor`` are, as text; None where they differ or are no numbers."""
    if tensor.numel() == 0:
        return None
    flat = tensor.reshape(-1)
    if not bool((flat == flat[0]).all()):
        return None
    from torch import finfo

    value = flat[0].item()
    if not isinstance(value, float) or value in (float("inf"), float("-inf")):
        return number(value)
    shorter = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    largest = finfo(flat.dtype).max  # the shortest text of the largest number is a little larger than that
    return number(next((each for each in shorter if abs(each) <= largest and flat.new_tensor(each) == flat[0]), value))


def source_line(node: Node) -> tuple[str, int] | None:
    """Return the place in the user's file."""
    return line_of(node)


def literal(value: Value) -> str | None:
    """Return the text of a literal, None for every other value."""
    return value.text if isinstance(value, Literal) else None
