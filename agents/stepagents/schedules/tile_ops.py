"""What each operation does to tiles: what it needs of its arguments, and its text. Loads no torch.

All tiles are matrices, so dimensions are counted from the last one; outer dimensions have blocks of 1 and do not show.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.parts import WHOLE, Blocks, Labels, NoSchedule, TilePart, scalar_of, shape_of
from stepagents.traced.graph import opname, scalar_argument, size_argument, size_text
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

# Template and FLOPs for each element of the result.
POINTWISE: Final[dict[str, tuple[str, int]]] = {
    "neg": ("-{0}", 1), "abs": ("torch.abs({0})", 1), "exp": ("torch.exp({0})", 4), "log": ("torch.log({0})", 4),
    "sqrt": ("torch.sqrt({0})", 4), "rsqrt": ("torch.rsqrt({0})", 4), "reciprocal": ("1 / {0}", 1),
    "sigmoid": ("torch.sigmoid({0})", 7), "tanh": ("torch.tanh({0})", 4), "erf": ("torch.erf({0})", 4),
    "relu": ("torch.relu({0})", 1), "sin": ("torch.sin({0})", 4), "cos": ("torch.cos({0})", 4),
    "add": ("{0} + {1}", 1), "sub": ("{0} - {1}", 1), "mul": ("{0} * {1}", 1), "div": ("{0} / {1}", 1),
    "pow": ("{0} ** {1}", 4), "maximum": ("torch.maximum({0}, {1})", 1), "minimum": ("torch.minimum({0}, {1})", 1),
    "logical_and": ("torch.logical_and({0}, {1})", 1), "logical_or": ("torch.logical_or({0}, {1})", 1),
    "logical_not": ("torch.logical_not({0})", 1), "bitwise_and": ("torch.bitwise_and({0}, {1})", 1),
    "bitwise_or": ("torch.bitwise_or({0}, {1})", 1), "bitwise_not": ("torch.bitwise_not({0})", 1),
    "log1p": ("torch.log1p({0})", 4), "expm1": ("torch.expm1({0})", 4), "sign": ("torch.sign({0})", 1),
    "floor": ("torch.floor({0})", 1), "ceil": ("torch.ceil({0})", 1), "round": ("torch.round({0})", 1),
    "where": ("torch.where({0}, {1}, {2})", 1), "eq": ("{0} == {1}", 1), "ne": ("{0} != {1}", 1),
    "lt": ("{0} < {1}", 1), "le": ("{0} <= {1}", 1), "gt": ("{0} > {1}", 1), "ge": ("{0} >= {1}", 1),
}  # fmt: skip
REDUCED: Final = {"sum": "torch.sum", "mean": "torch.mean", "amax": "torch.amax", "amin": "torch.amin"}
_SAME: Final = frozenset({"clone", "alias", "detach", "contiguous"})
_SOFTMAX: Final = {"_softmax": "torch.softmax", "_log_softmax": "torch.log_softmax"}
_CASTS: Final = {"fp32": "float", "int64": "long", "bool": "bool"}
_VIEWS: Final = frozenset({"view", "reshape"})
_FILLED: Final = frozenset({"scalar_tensor", "full"})
_OF_TENSORS: Final = {  # and what is written where one of them is a number; empty: the other tensor, or nothing
    "maximum": "torch.clamp({0}, min={1})", "minimum": "torch.clamp({0}, max={1})",
    "logical_and": "", "logical_or": "", "bitwise_and": "", "bitwise_or": "",
}  # fmt: skip
_ATOM: Final = re.compile(r"\w+|input\[\d+\](\.T)?|[\w.]+")  # what stands in an expression without brackets


def at_products(part: TilePart) -> bool:
    """Return whether a part is a bare product of matrices: bodies that are cut there leave it to another unit."""
    return part.bare


class TileBody:
    """The body of an element function that computes parts from tiles.

    ``inputs`` are the parts that it reads, in the order of the input tuple: the function's own tensors, and what other
    units compute: those parts of which ``cuts`` says so. ``flops`` is about what one call computes.
    """

    def __init__(self, blocks: Blocks, cuts: Callable[[TilePart], bool] = lambda _part: False) -> None:
        self.blocks = blocks
        self.inputs: list[TilePart] = []
        self.flops = 0
        self.lines: list[str] = []
        self._cuts = cuts
        self._known: dict[TilePart, str] = {}
        self._taken = {"input", "state", "torch"}

    def of(self, part: TilePart) -> str:
        """Return the text that stands for a part; what it is computed by goes into ``lines``.

        Raises:
            NoSchedule: an operation mixes blocks, or none is known for tiles.
        """
        if part not in self._known:
            is_read = part.node.op == "placeholder" or self._cuts(part)
            self._known[part] = self.reading(part) if is_read else self._computed(part)
        return self._known[part]

    def know(self, part: TilePart, text: str) -> None:
        """Take ``text`` for a part."""
        self._known[part] = text

    def reading(self, part: TilePart) -> str:
        """Make a part an input, and return what stands for it."""
        self.blocks.tile(part)
        self.inputs.append(part)
        text = f"input[{len(self.inputs) - 1}]"
        self._known[part] = text
        return text

    def count(self, part: TilePart, each: int) -> None:
        """Count ``each`` FLOPs for every element of a part."""
        rows, columns = self.blocks.numbers(part)
        self.flops += each * rows * columns

    def keep(self, text: str, name: str) -> str:
        """Give a text a name of its own, and return that."""
        if _ATOM.fullmatch(text):
            return text
        name = fresh_name(name, self._taken)
        self.lines.append(f"{name} = {text}")
        return name

    def _computed(self, part: TilePart) -> str:
        text = text_of(self, part)
        return text if _ATOM.fullmatch(text) else self.keep(text, part.node.name)

    def returning(self, result: str) -> str:
        """Return the whole body with one result; a name that is only returned is left out."""
        lines = list(self.lines)
        if lines and lines[-1].startswith(f"{result} = "):
            result = lines.pop().partition(" = ")[2]
        return "\n".join([*lines, f"return [{result}]"])


def text_of(body: TileBody, part: TilePart) -> str:
    """Return the text of an operation on tiles.

    Raises:
        NoSchedule: it has none.
    """
    name = opname(part.node)
    if part.node.target.__class__.__name__ == "builtin_function_or_method":
        return _item(body, part)
    handler = _HANDLERS.get(name)
    if handler is None and name in POINTWISE:
        handler = _pointwise
    if handler is None:
        raise NoSchedule(f"{name} has no form over tiles yet", part.node)
    return handler(body, part)


def _argument(body: TileBody, node: Node, labels: Labels) -> str:
    return body.of(TilePart(node, labels))


def _aligned(part: TilePart, node: Node) -> Labels:
    """Return the labels of an argument that is broadcast to a part."""
    dims, out = shape_of(node), shape_of(part.node)
    own = part.labels[len(out) - len(dims) :]
    sizes = out[len(out) - len(dims) :]
    return tuple(label if size == full else WHOLE for label, size, full in zip(own, dims, sizes, strict=True))


def _operand(body: TileBody, part: TilePart, place: int) -> str:
    given: Any = part.node.args[place]
    if isinstance(given, int | float):
        return _number(part.node, (place,))
    if not hasattr(given, "op"):
        raise NoSchedule(f"{opname(part.node)} takes {given!r}", part.node)
    if opname(given) in _FILLED:
        return _number(given, (0 if opname(given) == "scalar_tensor" else 1,))
    return _argument(body, given, _aligned(part, given))


def _number(node: Node, path: tuple[int]) -> str:
    """Return a number of the function as text for a body, where infinity has no name of its own."""
    text = scalar_argument(node, path)
    return re.sub(r"^(-?)(inf|nan)$", r"\1torch.\2", text)


def _pointwise(body: TileBody, part: TilePart) -> str:
    name = opname(part.node)
    if part.node.kwargs.get("alpha", 1) != 1 or part.node.kwargs.get("rounding_mode") is not None:
        raise NoSchedule(f"{name} is called with further arguments", part.node)
    template, flops = POINTWISE[name]
    texts = [_operand(body, part, place) for place in range(template.count("{"))]
    body.count(part, flops)
    numbers = [place for place, each in enumerate(part.node.args[: len(texts)]) if not _is_tensor(each)]
    if name in _OF_TENSORS and numbers:
        return _with_number(part, texts[1 - numbers[0]], texts[numbers[0]])
    return template.format(*texts)


def _is_tensor(given: Any) -> bool:
    return hasattr(given, "op") and opname(given) not in _FILLED


def _with_number(part: TilePart, text: str, number: str) -> str:
    """Return what an operation of two tensors gives where one of them is a number everywhere."""
    name = opname(part.node)
    template = _OF_TENSORS[name]
    if template:
        return template.format(text, number)
    if number != ("True" if name.endswith("and") else "False"):
        raise NoSchedule(f"{name} takes {number}", part.node)
    return text


def _gelu(body: TileBody, part: TilePart) -> str:
    if part.node.kwargs.get("approximate", "none") != "none":
        raise NoSchedule("gelu is approximated", part.node)
    body.count(part, 8)
    return f"torch.nn.functional.gelu({_operand(body, part, 0)})"


def _clamp(body: TileBody, part: TilePart) -> str:
    bounds = [*part.node.args[1:], None, None][:2]
    text = _operand(body, part, 0)
    for place, (limit, function) in enumerate(zip(bounds, ("min", "max"), strict=True), start=1):
        if limit is not None:
            body.count(part, 1)
            text = f"torch.clamp({text}, {function}={scalar_argument(part.node, (place,))})"
    return text


def _from_end(node: Node, dim: int, rank: int) -> int:
    place = dim - rank if dim >= 0 else dim
    if place < -2:
        raise NoSchedule(f"{opname(node)} runs over a dimension that no tile has", node)
    return place


def _integer(node: Node, place: int) -> int:
    """Return an argument that is a number, 0 where it is left out."""
    given: Any = node.args[place] if len(node.args) > place else 0
    return int(given)


def _same(body: TileBody, part: TilePart) -> str:
    return _operand(body, part, 0)


def _copied(body: TileBody, part: TilePart) -> str:
    given: Any = part.node.args[0]
    scalar = scalar_of(part.node)
    text = _operand(body, part, 0)
    return text if scalar_of(given) == scalar else f"{_factor(text)}.{_CASTS[scalar]}()"


def _positions(body: TileBody, part: TilePart) -> str:
    node = part.node
    ends = node.args if len(node.args) > 1 else (0, *node.args)
    if ends[0] != 0 or ends[2:] not in ((), (1,)):
        raise NoSchedule("its numbers do not count from 0", node)
    block = body.blocks.sizes.get(part.labels[0])
    if block is None:
        return f"torch.arange({size_text(shape_of(node)[0])}).reshape(1, -1)"
    same = next((each for each in body.inputs if each.is_position and each.labels == part.labels), None)
    if same is not None:
        return body.of(same)
    place = body.reading(part)
    return f"({block} * {place} + torch.arange({block})).reshape(1, -1)"


def _gathered(body: TileBody, part: TilePart) -> str:
    arguments: Any = part.node.args
    given, dim, index = arguments[:3]
    rank = len(part.labels)
    place = _from_end(part.node, int(dim), rank)
    if part.labels[place] != WHOLE or rank < 2:
        raise NoSchedule("it picks from a dimension that is cut", part.node)
    body.count(part, 1)
    return f"torch.gather({_argument(body, given, part.labels)}, {place + 2}, {_argument(body, index, part.labels)})"


def _squeezed(body: TileBody, part: TilePart) -> str:
    given: Any = part.node.args[0]
    dims: Any = part.node.args[1]
    rank = len(shape_of(given))
    places = sorted(dim % rank for dim in ([dims] if isinstance(dims, int) else dims))
    labels = list(part.labels)
    for place in places:
        labels.insert(place, WHOLE)
    text = _argument(body, given, tuple(labels))
    if not any(place >= rank - 2 for place in places) or (rank == 2 and places == [0]):
        return text
    if rank == 2 and places == [1]:
        return f"{text}.reshape(1, -1)"
    raise NoSchedule("it changes the shape of a tile", part.node)


def _selected(body: TileBody, part: TilePart) -> str:
    arguments: Any = part.node.args
    given, dim, _ = arguments
    dims = shape_of(given)
    place = int(dim) % len(dims)
    if dims[place] != 1:
        raise NoSchedule("it takes one of several along a dimension", part.node)
    return _argument(body, given, (*part.labels[:place], WHOLE, *part.labels[place:]))


def _soft(body: TileBody, part: TilePart) -> str:
    given: Any = part.node.args[0]
    dim = _from_end(part.node, _integer(part.node, 1), len(part.labels))
    if part.labels[dim] != WHOLE:
        raise NoSchedule("its rows would be cut", part.node)
    body.count(part, 8)
    place = dim + 2 if len(part.labels) > 1 else 1
    return f"{_SOFTMAX[opname(part.node)]}({_argument(body, given, part.labels)}, {place})"


def _reduced(body: TileBody, part: TilePart) -> str:
    node = part.node
    given: Any = node.args[0]
    rank = len(shape_of(given))
    dims: Any = node.args[1] if len(node.args) > 1 else ()
    keep = bool(node.args[2]) if len(node.args) > 2 else False
    if dims is None or len(dims) != 1:
        raise NoSchedule("it folds several dimensions", node)
    dim = _from_end(node, dims[0], rank)
    labels = list(part.labels)
    if keep:
        labels[dim] = WHOLE
    else:
        labels.insert(rank + dim, WHOLE)
    argument = TilePart(given, tuple(labels))
    text = body.of(argument)
    body.count(argument, 1)
    axis = dim + 2 if rank > 1 else 1
    text = f"{REDUCED[opname(node)]}({text}, {axis}, keepdim=True)"
    if keep or rank == 1 or axis == 0:
        return text
    return f"{text}.reshape(1, -1)"  # a column becomes the row of what has one dimension


def _layer_norm(body: TileBody, part: TilePart) -> str:
    node = part.node
    given, sizes, weight, bias = node.args[:4]
    if len(sizes) != 1 or part.labels[-1] != WHOLE:  # type: ignore[arg-type]
        raise NoSchedule("it normalizes over cut or several dimensions", node)
    x = _argument(body, given, part.labels)  # type: ignore[arg-type]
    body.count(part, 9)
    centred = body.keep(f"{x} - torch.mean({x}, 1, keepdim=True)", "centred")
    variance = body.keep(f"torch.mean({centred} * {centred}, 1, keepdim=True)", "variance")
    text = f"{centred} * torch.rsqrt({variance} + {scalar_argument(node, (4,))})"
    for factor, sign in ((weight, "*"), (bias, "+")):
        if factor is not None:
            text = f"{text} {sign} {_argument(body, factor, (WHOLE,))}"  # type: ignore[arg-type]
    return text


def _item(body: TileBody, part: TilePart) -> str:
    given: Any = part.node.args[0]
    index: Any = part.node.args[1]
    if opname(given) == "native_layer_norm" and index == 0:
        return body.of(TilePart(given, part.labels))
    if opname(given) == "split_with_sizes":
        return _split(body, part, given, index)
    raise NoSchedule(f"a result of {opname(given)} has no form over tiles yet", part.node)


def _split(body: TileBody, part: TilePart, split: Node, index: int) -> str:
    given: Any = split.args[0]
    rank = len(part.labels)
    dim = _from_end(split, _integer(split, 2), rank)
    sizes = [size_argument(split, (1, place)) for place in range(len(split.args[1]))]  # type: ignore[arg-type]
    first = sum(sizes[:index], Dim.of(0))
    return _cut(body, part, given, dim, first, first + sizes[index])


def _slice(body: TileBody, part: TilePart) -> str:
    node = part.node
    given: Any = node.args[0]
    rank = len(part.labels)
    dim = _from_end(node, _integer(node, 1), rank)
    first = size_argument(node, (2,)) if len(node.args) > 2 and node.args[2] is not None else Dim.of(0)
    if (len(node.args) > 4 and node.args[4] != 1) or (first.constant or 0) < 0:
        raise NoSchedule("it takes every other element", node)
    return _cut(body, part, given, dim, first, first + shape_of(node)[dim])


def _cut(body: TileBody, part: TilePart, given: Node, dim: int, first: Dim, end: Dim) -> str:
    if part.labels[dim] != WHOLE:
        raise NoSchedule("it takes a piece of a dimension that is cut", part.node)
    text = _argument(body, given, part.labels)
    low, high = (size.bind(body.blocks.bound) if size.constant is None else size.constant for size in (first, end))
    low_text, high_text = (size_text(size) for size in (first, end))
    if low == 0 and high == shape_of(given)[dim].bind(body.blocks.bound):
        return text
    cut = f"{low_text}:{high_text}"
    return f"{text}[:, {cut}]" if dim == -1 else f"{text}[{cut}]"


def _joined(body: TileBody, part: TilePart) -> str:
    items: Any = part.node.args[0]
    dim = _from_end(part.node, _integer(part.node, 1), len(part.labels))
    if part.labels[dim] != WHOLE:
        raise NoSchedule("it joins along a dimension that is cut", part.node)
    texts = [_argument(body, item, part.labels) for item in items]
    return f"torch.cat([{', '.join(texts)}], {dim + 2})"


def _unsqueezed(body: TileBody, part: TilePart) -> str:
    given: Any = part.node.args[0]
    rank = len(part.labels)
    dim = _integer(part.node, 1)
    dim = dim - rank if dim >= 0 else dim
    labels = tuple(label for place, label in enumerate(part.labels) if place != rank + dim)
    text = _argument(body, given, labels)
    if dim == -1:
        if rank > 2 and shape_of(given)[-2] != 1:
            raise NoSchedule("a block of it would have more than two dimensions", part.node)
        return f"{text}.reshape(-1, 1)"
    if dim == -2 and rank > 2 and labels[-2] == WHOLE and shape_of(given)[-2] != 1:
        raise NoSchedule("a block of it would have more than two dimensions", part.node)
    return text


def _viewed(body: TileBody, part: TilePart) -> str:
    given: Any = part.node.args[0]
    dims, out = shape_of(given), shape_of(part.node)
    if dims == out:
        return _argument(body, given, part.labels)
    if opname(given) in _VIEWS and shape_of(given.args[0]) == out:  # there and back
        return _argument(body, given.args[0], part.labels)
    same = 0
    while same < min(len(dims), len(out), 2) and dims[-1 - same] == out[-1 - same]:
        same += 1
    rest = part.labels[: len(out) - same]
    if same == 2 and len(set(rest)) == 1 and rest[0] != WHOLE:
        return _argument(body, given, (rest[0],) * (len(dims) - 2) + part.labels[-2:])
    raise NoSchedule("it changes the shape of a tile", part.node)


def _transposed(body: TileBody, part: TilePart) -> str:
    given: Any = part.node.args[0]
    order: Any = part.node.args[1]
    rank = len(order)
    places = [place % rank for place in order]
    labels = [WHOLE] * rank
    for place, source in enumerate(places):
        labels[source] = part.labels[place]
    if places == list(range(rank)):
        return _argument(body, given, tuple(labels))
    if places != [*range(rank - 2), rank - 1, rank - 2]:
        raise NoSchedule("it exchanges dimensions that no tile has", part.node)
    return f"{_argument(body, given, tuple(labels))}.T"


def factors(part: TilePart, depth: str = WHOLE) -> tuple[TilePart, TilePart]:
    """Return what a bare product multiplies, blocks of ``depth`` of the folded dimension at a time."""
    first: Any
    second: Any
    first, second = part.node.args[-2:]
    row, column = part.matrix
    return TilePart(first, (*part.outer, row, depth)), TilePart(second, (*part.outer, depth, column))


def _product(body: TileBody, part: TilePart) -> str:
    node = part.node
    if not part.bare:
        if node.kwargs:
            raise NoSchedule("it is called with further arguments", node)
        text = body.of(TilePart(node, part.labels, bare=True))
        return f"{text} + {_operand(body, part, 0)}" if opname(node) == "addmm" else text
    left, right = factors(part)
    body.flops += 2 * body.blocks.numbers(left)[1] * _elements(body, part)
    return f"{body.of(left)} @ {body.of(right)}"


def _factor(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"


def _elements(body: TileBody, part: TilePart) -> int:
    rows, columns = body.blocks.numbers(part)
    return rows * columns


PRODUCTS: Final = frozenset({"mm", "bmm", "addmm"})
_HANDLERS: Final[dict[str, Callable[[TileBody, TilePart], str]]] = {
    **dict.fromkeys(_SAME, _same), **dict.fromkeys(_SOFTMAX, _soft), **dict.fromkeys(REDUCED, _reduced),
    "_to_copy": _copied, "gelu": _gelu, "clamp": _clamp, "native_layer_norm": _layer_norm, "slice": _slice,
    "cat": _joined, "unsqueeze": _unsqueezed, "view": _viewed, "reshape": _viewed, "expand": _viewed,
    "arange": _positions, "gather": _gathered, "squeeze": _squeezed, "select": _selected, "permute": _transposed,
    **dict.fromkeys(PRODUCTS, _product),
}  # fmt: skip
