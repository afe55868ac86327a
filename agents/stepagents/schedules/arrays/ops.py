"""What each operation does to blocks of any number of dimensions: what it needs of its arguments, and its text.

Dimensions keep their numbers, so the text is mostly what PyTorch's is. No torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.arrays.body import ArrayBody, Handler, dims_text, inserted, need_whole
from stepagents.schedules.arrays.norms import NORMS, layer_norm
from stepagents.schedules.arrays.parts import VIEWS, ArrayPart, block_dims, dealt, span, viewed, whole
from stepagents.schedules.arrays.windows import WINDOWS, pooled
from stepagents.schedules.indices import Index
from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.schedules.tile_ops import (
    EXTREMES,
    POINTWISE,
    PRODUCTS,
    SOFTMAX,
    cast_text,
    in_brackets,
    number_text,
    pointwise_text,
    source_of,
)
from stepagents.traced.graph import opname, size_argument, size_text
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

_FOLDS: Final = ("sum", "mean", "amax", "amin", "prod", "argmax", "argmin", "any")
_ALONG: Final = {"cumsum": "torch.cumsum({0}, {1})", "flip": "torch.flip({0}, [{1}])"}


def _pointwise(body: ArrayBody, part: ArrayPart) -> str:
    text, flops = pointwise_text(part.node, lambda place: body.operand(part, place))
    body.count(part, flops)
    return text


def _copied(body: ArrayBody, part: ArrayPart) -> str:
    place = source_of(part.node)
    return cast_text(part.node, body.operand(part, place), place)


def _viewed(body: ArrayBody, part: ArrayPart) -> str:
    given = viewed(part, body.bound)
    text, (before, after) = body.of(given), (block_dims(given), block_dims(part))
    arguments: Any = part.node.args
    if opname(part.node) == "permute":
        order = [place % len(before) for place in arguments[1]]
        if order == [1, 0]:
            return f"{text}.T"
        kept = [place for place in order if before[place] != 1]
        if kept != sorted(kept):  # else it only moves dimensions of 1
            return f"{text}.permute({', '.join(map(str, order))})"
    if opname(part.node) == "expand" and before != after:
        return f"{text}.expand({dims_text(after)})"
    return body.reshaped(text, before, after)


def _repeated(body: ArrayBody, part: ArrayPart) -> str:
    """Return the text of a tensor several times side by side: its places are the inner ones of what is shown."""
    arguments: Any = part.node.args
    given, sizes = arguments[0], shape_of(arguments[0])
    if len(sizes) != len(part.at):
        raise NoSchedule("a repeat that adds dimensions has no form over blocks yet", part.node)
    times = [size_argument(part.node, (1, place)) for place in range(len(sizes))]
    at = dealt(part, [size for pair in zip(times, sizes, strict=True) for size in pair], body.bound)
    text = body.of(ArrayPart(given, at[1::2]))
    counts = [span(size, index) for size, index in zip(times, at[::2], strict=True)]
    return text if all(count == 1 for count in counts) else f"{in_brackets(text)}.repeat({dims_text(counts)})"


def _selected(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = part.node.args
    dims = shape_of(arguments[0])
    place = arguments[1] % len(dims)
    text = body.of(ArrayPart(arguments[0], inserted(part.at, [place], [whole(dims[place])], keep=False)))
    return f"{text}.select({place}, {size_text(size_argument(part.node, (2,)))})"


def _soft(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = part.node.args
    place = arguments[1] % len(part.at)
    need_whole(part, place)
    body.count(part, 8)
    return f"{SOFTMAX[opname(part.node)]}({body.of(ArrayPart(arguments[0], part.at))}, {place})"


def _folded(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = (*part.node.args, None, None)
    if part.node.kwargs.get("dtype") is not None:
        raise NoSchedule(f"{opname(part.node)} that changes the type has no form over blocks yet", part.node)
    return fold_text(body, part, f"torch.{opname(part.node)}({{0}}, {{1}}{{2}})", *arguments[:3])


def fold_text(body: ArrayBody, part: ArrayPart, template: str, given: Node, dims: Any, keep: Any) -> str:
    """Return the text of a fold over dimensions of ``given``: the block, the dimensions, ``keepdim`` in a template."""
    sizes = shape_of(given)
    places = sorted(dim % len(sizes) for dim in ([dims] if isinstance(dims, int) else dims or range(len(sizes))))
    argument = ArrayPart(given, inserted(part.at, places, [whole(sizes[place]) for place in places], keep=bool(keep)))
    body.count(argument, 1)
    shown = str(places[0]) if len(places) == 1 else f"({', '.join(map(str, places))})"
    return template.format(body.of(argument), shown, ", keepdim=True" if keep else "")


def _variance(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = (*part.node.args, None)
    options: Any = part.node.kwargs
    correction = options.get("correction", 1)
    template = f"torch.var({{0}}, {{1}}, correction={1 if correction is None else correction}{{2}})"
    return fold_text(body, part, template, arguments[0], arguments[1], options.get("keepdim", False))


def _norm(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = (*part.node.args, None, None, None)
    if len(part.node.args) > 1 and arguments[1] != 2:
        raise NoSchedule(f"a norm of order {arguments[1]} has no form over blocks yet", part.node)
    return fold_text(body, part, "torch.linalg.vector_norm({0}, 2, {1}{2})", arguments[0], *arguments[2:4])


def _along(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = part.node.args
    dims = arguments[1] if isinstance(arguments[1], list | tuple) else [arguments[1]]
    places = [int(dim) % len(part.at) for dim in dims]
    need_whole(part, *places)
    body.count(part, 1)
    text = body.of(ArrayPart(arguments[0], part.at))
    return _ALONG[opname(part.node)].format(text, ", ".join(map(str, places)))


def _topk(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = part.node.args
    place = (arguments[2] if len(arguments) > 2 else -1) % len(part.at)
    need_whole(part, place)
    sizes = shape_of(arguments[0])
    given = ArrayPart(arguments[0], inserted(part.at, [place], [whole(sizes[place])], keep=True))
    largest = arguments[3] if len(arguments) > 3 else part.node.kwargs.get("largest", True)
    body.count(given, 1)
    count = size_text(size_argument(part.node, (1,)))
    return f"torch.topk({body.of(given)}, {count}, {place}{'' if largest else ', False'})"


def _gathered(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = part.node.args
    given, dim, index = arguments[:3]
    place = dim % len(part.at)
    need_whole(part, place)
    _need_equal(part, shape_of(given), place)
    body.count(part, 1)
    text = body.of(ArrayPart(given, inserted(part.at, [place], [whole(shape_of(given)[place])], keep=True)))
    return f"torch.gather({text}, {place}, {body.of(ArrayPart(index, part.at))})"


def _scattered(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = part.node.args
    given, dim, index, source = arguments[:4]
    place = dim % len(part.at)
    need_whole(part, place)
    if part.node.kwargs or len(arguments) > 4:
        raise NoSchedule(f"{opname(part.node)} with further arguments has no form over blocks yet", part.node)
    at = inserted(part.at, [place], [whole(shape_of(index)[place])], keep=True)
    values = []
    for each in (index, source):
        if hasattr(each, "op"):
            _need_equal(part, shape_of(each), place)
            values.append(body.of(ArrayPart(each, at)))
        else:
            values.append(number_text(part.node, (3,)))
    body.count(part, 1)
    name = opname(part.node)
    return f"torch.{name}({body.of(ArrayPart(given, part.at))}, {place}, {', '.join(values)})"


def _need_equal(part: ArrayPart, sizes: Sequence[Dim], place: int) -> None:
    """Make sure that a tensor has the sizes of a part beside dimension ``place``, so that blocks belong together."""
    own = shape_of(part.node)
    if any(own[other] != sizes[other] for other in range(len(own)) if other != place):
        raise NoSchedule(f"{opname(part.node)} takes a tensor of other sizes", part.node)


def _filled(_body: ArrayBody, part: ArrayPart) -> str:
    value = number_text(part.node, (1,))
    dims = dims_text(block_dims(part))
    kind = str(part.node.meta["val"].dtype)
    kind = "" if kind == "torch.float32" and "." in value else f", dtype={kind}"
    return f"torch.full(({dims}{',' if len(part.at) == 1 else ''}), {value}{kind})"


def _counted(_body: ArrayBody, part: ArrayPart) -> str:
    need_whole(part, 0)
    ends = part.node.args if len(part.node.args) > 1 else (0, *part.node.args)
    if ends[0] != 0 or ends[2:] not in ((), (1,)):
        raise NoSchedule("numbers that do not count from 0 by 1 have no form over blocks yet", part.node)
    return f"torch.arange({size_text(shape_of(part.node)[0])})"


def _sliced(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = (*part.node.args, None, None, None, None)
    place = (arguments[1] or 0) % len(part.at)
    first = size_argument(part.node, (2,)) if arguments[2] is not None else Dim.of(0)
    if arguments[4] not in (None, 1) or (first.constant or 0) < 0:
        raise NoSchedule("a slice with a step, or from the end, has no form over blocks yet", part.node)
    return _cut(body, part, arguments[0], place, first)


def _cut(body: ArrayBody, part: ArrayPart, given: Node, place: int, first: Dim) -> str:
    """Return the text of the places from ``first`` on of a dimension, as many as the part has."""
    own, sizes = shape_of(part.node)[place], shape_of(given)
    if own == sizes[place]:
        return body.of(ArrayPart(given, part.at))
    need_whole(part, place)
    text = body.of(ArrayPart(given, inserted(part.at, [place], [whole(sizes[place])], keep=True)))
    low = "" if first == 0 else size_text(first)
    high = "" if first + own == sizes[place] else size_text(first + own)
    return f"{text}[{':, ' * place}{low}:{high}]"


def _joined(body: ArrayBody, part: ArrayPart) -> str:
    arguments: Any = part.node.args
    place = (arguments[1] if len(arguments) > 1 else 0) % len(part.at)
    need_whole(part, place)

    def at(item: Node) -> tuple[Index, ...]:
        return inserted(part.at, [place], [whole(shape_of(item)[place])], keep=True)

    return f"torch.cat([{', '.join(body.of(ArrayPart(item, at(item))) for item in arguments[0])}], {place})"


def _product(body: ArrayBody, part: ArrayPart) -> str:
    node = part.node
    if node.kwargs:
        raise NoSchedule("a product with further arguments has no form over blocks yet", node)
    given: Any = node.args[-2:]
    depth = shape_of(given[0])[-1]
    left = ArrayPart(given[0], (*part.at[:-1], whole(depth)))
    right = ArrayPart(given[1], (*part.at[:-2], whole(depth), part.at[-1]))
    body.count(part, 2 * depth.bind(body.bound))
    text = f"{body.of(left)} @ {body.of(right)}"
    return f"{text} + {body.operand(part, 0)}" if opname(node) == "addmm" else text


def _item(body: ArrayBody, part: ArrayPart) -> str:
    given: Any = part.node.args[0]
    index: Any = part.node.args[1]
    name, arguments = opname(given), given.args
    if name in EXTREMES and len(arguments) > 1:
        template = f"torch.{EXTREMES[name]}" if index == 0 else f"torch.arg{name}"
        keep = arguments[2] if len(arguments) > 2 else False
        return fold_text(body, part, f"{template}({{0}}, {{1}}{{2}})", arguments[0], arguments[1], keep)
    if name == "split_with_sizes":
        place = (arguments[2] if len(arguments) > 2 else 0) % len(part.at)
        first = sum((size_argument(given, (1, number)) for number in range(index)), Dim.of(0))
        return _cut(body, part, arguments[0], place, first)
    if name == "topk":
        return f"{body.of(ArrayPart(given, part.at))}[{index}]"
    if index == 0 and name == "native_layer_norm":
        return layer_norm(body, part, given)
    if index == 0 and name in NORMS:
        return NORMS[name](body, part, given)
    if index == 0 and name == "max_pool2d_with_indices":
        return pooled(body, ArrayPart(given, part.at))
    raise NoSchedule(f"a result of {name} has no form over blocks yet", part.node)


HANDLERS: Final[Mapping[str, Handler]] = {
    **dict.fromkeys(POINTWISE, _pointwise), **dict.fromkeys(VIEWS, _viewed), **dict.fromkeys(SOFTMAX, _soft),
    **dict.fromkeys(_FOLDS, _folded), **dict.fromkeys(_ALONG, _along), **dict.fromkeys(PRODUCTS, _product), **WINDOWS,
    "_to_copy": _copied, "copy": _copied, "repeat": _repeated, "select": _selected, "var": _variance,
    "linalg_vector_norm": _norm,
    "topk": _topk, "gather": _gathered, "scatter": _scattered, "scatter_add": _scattered, "full": _filled,
    "full_like": _filled, "arange": _counted, "slice": _sliced, "cat": _joined, "getitem": _item,
}  # fmt: skip
