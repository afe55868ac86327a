"""Pools and convolutions of blocks: windows over dimensions that are whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.arrays.body import ArrayBody, Handler, need_whole
from stepagents.schedules.arrays.parts import ArrayPart, block_dims, whole
from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.traced.graph import opname, size_argument, size_text
from stepcore.sizes.dim import product

if TYPE_CHECKING:
    from torch.fx import Node

_BEFORE: Final = 2  # dimensions in front of those that windows run over: images, channels
_POOLS: Final = {  # what a public function is called, and its arguments behind the block, with their defaults
    "max_pool2d_with_indices": ("max_pool2d", (None, None, 0, 1, False)),
    "avg_pool2d": ("avg_pool2d", (None, None, 0, False, True, None)),
    "avg_pool1d": ("avg_pool1d", (None, None, 0, False, True)),
}  # fmt: skip


def pooled(body: ArrayBody, part: ArrayPart) -> str:
    """Return the text of a pool: a fold over windows of the last dimensions."""
    node = part.node
    given: Any = node.args
    name, defaults = _POOLS[opname(node)]
    rank = 1 if name.endswith("1d") else 2
    places = range(len(part.at) - rank, len(part.at))
    need_whole(part, *places)
    sizes = shape_of(given[0])
    image = ArrayPart(given[0], (*part.at[:-rank], *(whole(sizes[place]) for place in places)))
    kernel = _each(given[1], rank)
    taps = 1
    for each in kernel:
        taps *= each
    body.count(part, taps)
    options = [*given[1:], *defaults[len(given) - 1 :]]
    if not options[1]:
        options[1] = kernel
    while len(options) > 2 and _plain(options[-1], rank) == _plain(defaults[len(options) - 1], rank):
        options.pop()
    shown = ", ".join(str(_short(each)) for each in options)
    return f"torch.nn.functional.{name}({body.of(image)}, {shown})"


def _each(given: Any, rank: int) -> list[int]:
    """Return a number for each dimension, where one may stand for all."""
    values = [given] if isinstance(given, int) else list(given)
    return values * rank if len(values) == 1 else values


def _plain(given: Any, rank: int) -> Any:
    return _each(given, rank) if isinstance(given, int | list | tuple) and not isinstance(given, bool) else given


def _short(given: Any) -> Any:
    """Return an argument as one writes it: one number for all dimensions."""
    if isinstance(given, list | tuple):
        return given[0] if len(set(given)) == 1 else tuple(given)
    return given


def _convolved(body: ArrayBody, part: ArrayPart) -> str:
    """Return the text of a convolution, as a product of windows and weights.

    Raises:
        NoSchedule: its kind has no form here.
    """
    node = part.node
    given: Any = node.args
    image, weight, bias, stride, padding, dilation, transposed, *_ = given
    kernel = [size.constant for size in shape_of(weight)[_BEFORE:]]
    rank = len(kernel)
    need_whole(part, *range(_BEFORE, _BEFORE + rank))
    if size_argument(node, (8,)) != 1 or rank > 2 or None in kernel or len(part.at) != rank + _BEFORE:
        raise NoSchedule("this kind of convolution has no form over blocks yet", node)
    planes = ArrayPart(image, (part.at[0], *map(whole, shape_of(image)[1:])))
    channels = ArrayPart(weight, _weight_at(part, weight, transposed=bool(transposed)))
    write = _transposed if transposed else _windows
    text = write(body, part, (planes, channels), {"padding": padding, "stride": stride, "dilation": dilation})
    taps = product(shape_of(weight)[_BEFORE:])
    places = image if transposed else node
    each = 2 * (taps * shape_of(image)[1]).bind(body.bound)
    body.flops += each * product((*block_dims(part)[:_BEFORE], *shape_of(places)[_BEFORE:])).bind(body.bound)
    if bias is not None:
        ones = ", ".join("1" for _ in kernel)
        text = f"{text} + {body.of(ArrayPart(bias, (part.at[1],)))}.reshape(-1, {ones})"
    return text


def _weight_at(part: ArrayPart, weight: Node, *, transposed: bool) -> Any:
    sizes = shape_of(weight)
    kernel = map(whole, sizes[_BEFORE:])
    return (whole(sizes[0]), part.at[1], *kernel) if transposed else (part.at[1], whole(sizes[1]), *kernel)


def _windows(body: ArrayBody, part: ArrayPart, given: tuple[ArrayPart, ArrayPart], options: Mapping[str, Any]) -> str:
    image, weight = given
    dims, flat = block_dims(part), len(part.at) == _BEFORE + 1
    sizes, (_, _, *kernel) = block_dims(image), block_dims(weight)
    planes = body.of(image)
    if flat:
        planes = f"{planes}.reshape({size_text(sizes[0])}, {size_text(sizes[1])}, 1, {size_text(sizes[2])})"
    windows = body.keep(f"torch.nn.functional.unfold({planes}, {_pair(kernel, 1)}{_options(options, flat)})", "windows")
    text = f"({body.matrix(weight)} @ {windows})"
    return text if flat else f"{text}.reshape({', '.join(map(size_text, dims))})"


def _transposed(
    body: ArrayBody, part: ArrayPart, given: tuple[ArrayPart, ArrayPart], options: Mapping[str, Any]
) -> str:
    image, weight = given
    dims, flat = block_dims(part), len(part.at) == _BEFORE + 1
    sizes, (depth, _, *kernel) = block_dims(image), block_dims(weight)
    planes = f"{body.of(image)}.reshape({size_text(sizes[0])}, {size_text(depth)}, {size_text(product(sizes[2:]))})"
    columns = body.keep(f"{body.matrix(weight)}.T @ {planes}", "columns")
    result = f"({'1, ' if flat else ''}{', '.join(map(size_text, dims[_BEFORE:]))})"
    text = f"torch.nn.functional.fold({columns}, {result}, {_pair(kernel, 1)}{_options(options, flat)})"
    return f"{text}.reshape({', '.join(map(size_text, dims))})" if flat else text


def _pair(values: Any, first: int) -> str:
    numbers = [first, *values][-2:]
    return f"({numbers[0]}, {numbers[1]})"


def _options(options: Mapping[str, Any], flat: bool) -> str:
    plain = {"padding": 0, "stride": 1, "dilation": 1}
    return "".join(
        f", {name}={_pair(values, plain[name])}"
        for name, values in options.items()
        if any(each != plain[name] for each in values)
    )


WINDOWS: Final[Mapping[str, Handler]] = {"avg_pool1d": pooled, "avg_pool2d": pooled, "convolution": _convolved}
