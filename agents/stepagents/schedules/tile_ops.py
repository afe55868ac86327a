"""What each operation does to tiles: what it needs of its arguments, and its text. Loads no torch.

All tiles are matrices, so dimensions are counted from the last one; outer dimensions have blocks of 1 and do not show.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.bodies import ATOM, TileText
from stepagents.schedules.parts import WHOLE, Labels, NoSchedule, TilePart, scalar_of, shape_of
from stepagents.schedules.views import VIEWS, from_end, integer, split
from stepagents.traced.graph import opname, scalar_argument

if TYPE_CHECKING:
    from torch.fx import Node

# Template and FLOPs for each element of the result.
_POINTWISE: Final[dict[str, tuple[str, int]]] = {
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
    "isnan": ("torch.isnan({0})", 1),
    "where": ("torch.where({0}, {1}, {2})", 1), "eq": ("{0} == {1}", 1), "ne": ("{0} != {1}", 1),
    "lt": ("{0} < {1}", 1), "le": ("{0} <= {1}", 1), "gt": ("{0} > {1}", 1), "ge": ("{0} >= {1}", 1),
}  # fmt: skip
ELEMENTWISE: Final = frozenset({*_POINTWISE, "gelu"})
REDUCED: Final = {name: f"torch.{name}({{0}}, {{1}}, keepdim=True)" for name in ("sum", "mean", "amax", "amin", "prod")}
EXTREMES: Final = {"max": "amax", "min": "amin"}
_ALONG: Final = {"cumsum": "torch.cumsum({0}, {1})", "flip": "torch.flip({0}, [{1}])"}
_ACTIVATIONS: Final = {"elu": "1.0", "leaky_relu": "0.01"}  # and the parameter where none is written
CHANNELS: Final = frozenset({"_native_batch_norm_legit", "_native_batch_norm_legit_no_training"})
SOFTMAX: Final = {"_softmax": "torch.softmax", "_log_softmax": "torch.log_softmax"}
_CASTS: Final = {"fp32": "float", "int64": "long", "bool": "bool"}
FILLED: Final = frozenset({"scalar_tensor", "full"})
_OF_TENSORS: Final = {  # and what is written where one of them is a number; empty: the other tensor, or nothing
    "maximum": "torch.clamp({0}, min={1})", "minimum": "torch.clamp({0}, max={1})",
    "logical_and": "", "logical_or": "", "bitwise_and": "", "bitwise_or": "",
}  # fmt: skip
POINTWISE: Final = ELEMENTWISE | {"clamp", *_ACTIVATIONS}


def at_products(part: TilePart) -> bool:
    """Return whether a part is a bare product of matrices: bodies that are cut there leave it to another unit."""
    return part.bare


class TileBody(TileText):
    """A body in which every operation that has a form over tiles can stand."""

    def text_of(self, part: TilePart) -> str:
        """Return the text of an operation on tiles.

        Raises:
            NoSchedule: it has none.
        """
        if part.node.target.__class__.__name__ == "builtin_function_or_method":
            return _item(self, part)
        name = opname(part.node)
        handler = _HANDLERS.get(name)
        if handler is None:
            raise NoSchedule(f"{name} has no form over tiles yet", part.node)
        return handler(self, part)


def _aligned(part: TilePart, node: Node) -> Labels:
    """Return the labels of an argument that is broadcast to a part."""
    dims, out = shape_of(node), shape_of(part.node)
    own = part.labels[len(out) - len(dims) :]
    sizes = out[len(out) - len(dims) :]
    return tuple(label if size == full else WHOLE for label, size, full in zip(own, dims, sizes, strict=True))


def _operand(body: TileText, part: TilePart, place: int) -> str:
    given: Any = part.node.args[place]
    if isinstance(given, int | float):
        return number_text(part.node, (place,))
    if not hasattr(given, "op"):
        raise NoSchedule(f"{opname(part.node)} takes {given!r}", part.node)
    if opname(given) in FILLED:
        return number_text(given, (0 if opname(given) == "scalar_tensor" else 1,))
    return body.argument(given, _aligned(part, given))


def number_text(node: Node, path: tuple[int]) -> str:
    """Return a number of the function as text for a body, where infinity has no name of its own."""
    text = scalar_argument(node, path)
    return re.sub(r"^(-?)(inf|nan)$", r"\1torch.\2", text)


def _pointwise(body: TileText, part: TilePart) -> str:
    text, flops = pointwise_text(part.node, lambda place: _operand(body, part, place))
    body.count(part, flops)
    return text


def pointwise_text(node: Node, operand: Callable[[int], str]) -> tuple[str, int]:
    """Return the text of an operation on single elements, and FLOPs for each; ``operand`` writes an argument.

    Raises:
        NoSchedule: it has further arguments.
    """
    name = opname(node)
    if name == "clamp":
        return _clamp(node, operand)
    if name in _ACTIVATIONS:
        return _activation(node, operand), 1
    template, flops = pointwise(node)
    texts = [operand(place) for place in range(template.count("{"))]
    numbers = [place for place, each in enumerate(node.args[: len(texts)]) if not _is_tensor(each)]
    if name in _OF_TENSORS and numbers:
        return _with_number(node, texts[1 - numbers[0]], texts[numbers[0]]), flops
    return template.format(*texts), flops


def pointwise(node: Node) -> tuple[str, int]:
    """Return the text of one of ``ELEMENTWISE``, with a place for each argument, and its FLOPs.

    Raises:
        NoSchedule: it has further arguments.
    """
    name = opname(node)
    if name == "gelu":
        approximate = node.kwargs.get("approximate", "none")
        more = "" if approximate == "none" else f", approximate={approximate!r}"
        return f"torch.nn.functional.gelu({{0}}{more})", 8
    if node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("rounding_mode") is not None:
        raise NoSchedule(f"{name} with further arguments has no form over tiles yet", node)
    return _POINTWISE[name]


def _is_tensor(given: Any) -> bool:
    return hasattr(given, "op") and opname(given) not in FILLED


def _with_number(node: Node, text: str, number: str) -> str:
    """Return what an operation of two tensors gives where one of them is a number everywhere."""
    name = opname(node)
    template = _OF_TENSORS[name]
    if template:
        return template.format(text, number)
    if number != ("True" if name.endswith("and") else "False"):
        raise NoSchedule(f"{name} takes {number}", node)
    return text


def _clamp(node: Node, operand: Callable[[int], str]) -> tuple[str, int]:
    bounds = [*node.args[1:], None, None][:2]
    text, flops = operand(0), 0
    for place, (limit, function) in enumerate(zip(bounds, ("min", "max"), strict=True), start=1):
        if limit is not None:
            flops += 1
            number = operand(place) if hasattr(limit, "op") else scalar_argument(node, (place,))
            text = f"torch.clamp({text}, {function}={number})"
    return text, flops


def _copied(body: TileText, part: TilePart) -> str:
    place = source_of(part.node)
    return cast_text(part.node, _operand(body, part, place), place)


def source_of(node: Node) -> int:
    """Return which argument of a conversion, or of a ``copy`` over a whole tensor, holds the values.

    Raises:
        NoSchedule: what is written is broadcast.
    """
    given: Any = node.args
    if opname(node) != "copy":
        return 0
    if not hasattr(given[1], "op") or shape_of(given[1]) != shape_of(node):
        raise NoSchedule("a tensor that is overwritten by what is broadcast has no form over tiles yet", node)
    return 1


def cast_text(node: Node, text: str, place: int = 0) -> str:
    """Return the text of a conversion of ``text``, which stands for the argument at ``place``.

    Raises:
        NoSchedule: tiles of the type do not exist here.
    """
    given: Any = node.args[place]
    scalar = scalar_of(node)
    return text if scalar_of(given) == scalar else f"{in_brackets(text)}.{_CASTS[scalar]}()"


def _soft(body: TileText, part: TilePart) -> str:
    given: Any = part.node.args[0]
    dim = from_end(part.node, integer(part.node, 1), len(part.labels))
    if part.labels[dim] != WHOLE:
        raise NoSchedule("rows that this operation needs whole would be cut", part.node)
    body.count(part, 8)
    place = dim + 2 if len(part.labels) > 1 else 1
    return f"{SOFTMAX[opname(part.node)]}({body.argument(given, part.labels)}, {place})"


def _activation(node: Node, operand: Callable[[int], str]) -> str:
    name = opname(node)
    parameter = scalar_argument(node, (1,)) if len(node.args) > 1 else _ACTIVATIONS[name]
    if any(given != 1 for given in node.args[2:]):
        raise NoSchedule(f"{name} with further arguments has no form over tiles yet", node)
    return f"torch.nn.functional.{name}({operand(0)}, {parameter})"


def _reduced(body: TileText, part: TilePart) -> str:
    given: Any = part.node.args
    name = opname(part.node)
    dims = given[1] if len(given) > 1 else ()
    return _folded(body, part, given[0], dims, keep=len(given) > 2 and bool(given[2]), template=REDUCED[name])


def _norm(body: TileText, part: TilePart) -> str:
    given: Any = (*part.node.args, None, None)
    value, order, dims, keep = (given[0], 2, None, False) if len(part.node.args) == 1 else given[:4]
    if order != 2:
        raise NoSchedule(f"a norm of order {order} has no form over tiles yet", part.node)
    return _folded(
        body, part, value, dims, keep=bool(keep), template="torch.sqrt(torch.sum({0} * {0}, {1}, keepdim=True))"
    )


def _variance(body: TileText, part: TilePart) -> str:
    given: Any = (*part.node.args, None)
    options: Any = part.node.kwargs
    correction, keep = options.get("correction", 1), bool(options.get("keepdim", False))
    template = f"torch.var({{0}}, {{1}}, correction={1 if correction is None else correction}, keepdim=True)"
    return _folded(body, part, given[0], given[1], keep=keep, template=template)


def _folded(body: TileText, part: TilePart, given: Node, dims: Any, *, keep: bool, template: str) -> str:
    """Return the text of a fold over rows or columns of a tile, or over both."""
    node, rank = part.node, len(shape_of(given))
    dims = [dims] if isinstance(dims, int) else dims
    if not dims:
        raise NoSchedule("a fold of all dimensions cannot be computed block by block here", node)
    places = sorted(from_end(node, dim, rank) for dim in dims)
    labels = list(part.labels)
    for place in places:
        if keep:
            labels[place] = WHOLE
        else:
            labels.insert(rank + place, WHOLE)
    argument = TilePart(given, tuple(labels))
    text = body.of(argument)
    body.count(argument, 1)
    axes = [place + 2 if rank > 1 else 1 for place in places]
    text = template.format(text, axes[0] if len(axes) == 1 else f"({', '.join(map(str, axes))})")
    if keep or rank == 1 or axes != [1]:
        return text
    return f"{text}.reshape(1, -1)"  # a column becomes the row of what has one dimension


def _along(body: TileText, part: TilePart) -> str:
    """Return the text of what moves or adds up numbers along a dimension that is not cut."""
    given: Any = part.node.args
    dims = given[1] if isinstance(given[1], list | tuple) else [given[1]]
    places = [from_end(part.node, int(dim), len(part.labels)) for dim in dims]
    if any(part.labels[place] != WHOLE for place in places) or len(places) != 1:
        raise NoSchedule(f"{opname(part.node)} runs along a dimension that is cut", part.node)
    body.count(part, 1)
    axis = places[0] + 2 if len(part.labels) > 1 else 1
    return _ALONG[opname(part.node)].format(body.argument(given[0], part.labels), axis)


def _layer_norm(body: TileText, part: TilePart) -> str:
    node = part.node
    given, sizes, weight, bias = node.args[:4]
    if len(sizes) != 1 or part.labels[-1] != WHOLE:  # type: ignore[arg-type]
        raise NoSchedule(
            "a normalization over several dimensions, or one that is cut, has no form over tiles yet", node
        )
    x = body.argument(given, part.labels)  # type: ignore[arg-type]
    body.count(part, 9)
    centred = body.keep(f"{x} - torch.mean({x}, 1, keepdim=True)", "centred")
    variance = body.keep(f"torch.mean({centred} * {centred}, 1, keepdim=True)", "variance")
    text = f"{centred} * torch.rsqrt({variance} + {scalar_argument(node, (4,))})"
    for factor, sign in ((weight, "*"), (bias, "+")):
        if factor is not None:
            text = f"{text} {sign} {body.argument(factor, (WHOLE,))}"  # type: ignore[arg-type]
    return text


def _batch_norm(body: TileText, part: TilePart, whole: Node) -> str:
    """Return the text of a normalization of each channel (dimension 1): by given numbers, or of each plane by its own.

    Raises:
        NoSchedule: the mean is one of several images, or of a plane that is cut.
    """
    given: Any = whole.args
    rank, dims = len(part.labels), shape_of(part.node)
    x = body.argument(given[0], part.labels)
    body.count(part, 9)

    def channel(node: Node) -> str:
        text = body.argument(node, (part.labels[1],))
        return f"{text}.reshape(-1, 1)" if rank == 3 else text

    if opname(whole) == "_native_batch_norm_legit_no_training":
        centred, variance = f"({x} - {channel(given[3])})", channel(given[4])
    elif dims[0] != 1 or given[1] is not None or any(label != WHOLE for label in part.labels[2:]) or rank < 3:
        raise NoSchedule(
            "a mean over several images, or over what is cut into tiles, has no form over tiles yet", whole
        )
    else:
        axes = "1" if rank == 3 else "(0, 1)"
        centred = body.keep(f"{x} - torch.mean({x}, {axes}, keepdim=True)", "centred")
        variance = body.keep(f"torch.mean({centred} * {centred}, {axes}, keepdim=True)", "variance")
    text = f"{centred} * torch.rsqrt({variance} + {scalar_argument(whole, (len(given) - 1,))})"
    for factor, sign in ((given[1], "*"), (given[2], "+")):
        if factor is not None:
            text = f"{text} {sign} {channel(factor)}"
    return text


def _item(body: TileText, part: TilePart) -> str:
    given: Any = part.node.args[0]
    index: Any = part.node.args[1]
    if opname(given) == "native_layer_norm" and index == 0:
        return body.of(TilePart(given, part.labels))
    if opname(given) in EXTREMES and index == 0:
        options: Any = given.args
        template = REDUCED[EXTREMES[opname(given)]]
        return _folded(
            body, part, options[0], options[1], keep=len(options) > 2 and bool(options[2]), template=template
        )
    if opname(given) in CHANNELS and index == 0:
        return _batch_norm(body, part, given)
    if opname(given) == "split_with_sizes":
        return split(body, part, given, index)
    if opname(given) == "topk":
        return f"{body.of(TilePart(given, part.labels))}[{index}]"
    raise NoSchedule(f"a result of {opname(given)} has no form over tiles yet", part.node)


def _topk(body: TileText, part: TilePart) -> str:
    given: Any = part.node.args
    dim = from_end(part.node, int(given[2]) if len(given) > 2 else -1, len(part.labels))
    if part.labels[dim] != WHOLE or not isinstance(given[1], int):
        raise NoSchedule("an index cannot pick from a dimension that is cut into tiles", part.node)
    largest = given[3] if len(given) > 3 else part.node.kwargs.get("largest", True)
    body.count(TilePart(given[0], part.labels), 1)
    axis = dim + 2 if len(part.labels) > 1 else 1
    return f"torch.topk({body.argument(given[0], part.labels)}, {given[1]}, {axis}{'' if largest else ', False'})"


def factors(part: TilePart, depth: str = WHOLE) -> tuple[TilePart, TilePart]:
    """Return what a bare product multiplies, blocks of ``depth`` of the folded dimension at a time."""
    first: Any
    second: Any
    first, second = part.node.args[-2:]
    row, column = part.matrix
    return TilePart(first, (*part.outer, row, depth)), TilePart(second, (*part.outer, depth, column))


def _product(body: TileText, part: TilePart) -> str:
    node = part.node
    if not part.bare:
        if node.kwargs:
            raise NoSchedule("a product with further arguments has no form over tiles yet", node)
        text = body.of(TilePart(node, part.labels, bare=True))
        return f"{text} + {_operand(body, part, 0)}" if opname(node) == "addmm" else text
    left, right = factors(part)
    depth, columns = body.blocks.numbers(right)
    body.flops += 2 * depth * _elements(body, part)
    body.kept += depth * (KEPT_ROWS + columns)
    return f"{body.of(left)} @ {body.of(right)}"


def in_brackets(text: str) -> str:
    """Return an expression of a body as what a method is called on."""
    return text if ATOM.fullmatch(text) else f"({text})"


def _elements(body: TileText, part: TilePart) -> int:
    rows, columns = body.blocks.numbers(part)
    return rows * columns


KEPT_ROWS: Final = 16  # of what a product multiplies, which its unit keeps beside its matrix ("Metrics")
PRODUCTS: Final = frozenset({"mm", "bmm", "addmm"})
_HANDLERS: Final[dict[str, Callable[[TileText, TilePart], str]]] = {
    **dict.fromkeys(POINTWISE, _pointwise), **dict.fromkeys(SOFTMAX, _soft),
    **dict.fromkeys(REDUCED, _reduced), **dict.fromkeys(PRODUCTS, _product), **VIEWS,
    **dict.fromkeys(_ALONG, _along),
    "linalg_vector_norm": _norm, "var": _variance,
    "topk": _topk, "_to_copy": _copied, "copy": _copied, "native_layer_norm": _layer_norm,
}  # fmt: skip
